import t from 'tap'
import { offered, poll, projectId, type RequestGiven, type RunnerGiven } from './fake.ts'
import { world } from './world.ts'

const full: RequestGiven = { throttle: 'full', approved: true }

const table: readonly [string, RunnerGiven, RequestGiven, boolean][] = [
  ['any project is granted by *', { allowed_projects: ['*'] }, {}, true],
  ['a project is granted by its key', { allowed_projects: ['beta', 'alpha'] }, {}, true],
  ['its id grants nothing', { allowed_projects: [projectId('alpha')] }, {}, false],
  ['another project is not granted', { allowed_projects: ['beta'] }, {}, false],
  ['an empty list grants nothing', { allowed_projects: [] }, {}, false],
  ['each project that it tells of is granted', { allowed_projects: ['beta', 'alpha'] }, { told_of: ['beta'] }, true],
  ['of all projects by *', { allowed_projects: ['*'] }, { told_of: ['beta'] }, true],
  ['one that it tells of is not granted', { allowed_projects: ['alpha'] }, { told_of: ['beta'] }, false],
  ['nor to the runner named', { allowed_projects: ['alpha'] }, { told_of: ['beta'], runner_id: 'r1' }, false],
  ['a runner with every label takes it', { labels: ['gpu', 'linux', 'eu'] }, { labels: ['linux', 'gpu'] }, true],
  ['a label that is missing stands in the way', { labels: ['linux'] }, { labels: ['linux', 'gpu'] }, false],
  ['labels that nobody asked for do not', { labels: ['gpu'] }, {}, true],
  ['the runner named takes it', {}, { runner_id: 'r1' }, true],
  ['another runner than the one named does not', {}, { runner_id: 'r2' }, false],
  ['the runner named needs no label', {}, { runner_id: 'r1', labels: ['gpu'] }, true],
  ['the runner named needs the project', { allowed_projects: [] }, { runner_id: 'r1' }, false],
  ['the runner named needs the trust', { trusted: false }, { ...full, runner_id: 'r1' }, false],
  ['full access at full throttle needs trust', { trusted: false }, full, false],
  ['a trusted runner has it', { trusted: true }, full, true],
  ['reading at full throttle needs no trust', { trusted: false }, { ...full, access: 'read_only' }, true],
  ['a dry run needs no trust', { trusted: false }, { throttle: 'dry_run' }, true],
  ['full throttle needs an approval', {}, { throttle: 'full', approved: false }, false],
  ['reading at full throttle needs an approval', {}, { throttle: 'full', access: 'read_only', approved: false }, false],
  ['a dry run needs no approval', {}, { throttle: 'dry_run', approved: false }, true],
  ['what is not to begin yet is not offered', {}, { not_before: '2026-01-02T00:00:00Z' }, false],
  ['what was to begin before now is', {}, { not_before: '2025-01-02T00:00:00Z' }, true],
  ['a draining runner takes nothing', { state: 'draining' }, {}, false],
]

for (const order of ['request first', 'poll first'] as const) {
  for (const [name, runner, request, isTaken] of table) {
    t.test(`${name} (${order})`, async (t) => {
      const { fake, dispatcher } = world({ r1: runner })
      if (runner.state === 'draining') poll(dispatcher, 'r1')
      const early = order === 'poll first' ? poll(dispatcher, 'r1') : undefined
      const id = fake.create(request)
      fake.run()
      const asked = early ?? poll(dispatcher, 'r1')
      fake.run()
      t.equal(offered(asked), isTaken ? id : undefined)
      t.equal(fake.state(id), isTaken ? 'offered' : 'queued')
    })
  }
}

t.test('a manifest that does not serve the entry event keeps the runner from it', async (t) => {
  const { fake, dispatcher } = world({ old: {}, new: {} })
  const polls = { new: poll(dispatcher, 'new'), old: poll(dispatcher, 'old') }
  dispatcher.setCapable((runner, { entryEvent }) => runner === 'new' || entryEvent !== 'scan_requested')
  const scan = fake.create({ entry_event: 'scan_requested' })
  fake.run()
  t.equal(offered(polls.new), scan, 'although the other one polled later')
  t.equal(polls.old.answer, undefined)
  const second = fake.create({ entry_event: 'scan_requested' })
  fake.run()
  t.equal(fake.state(second), 'queued')
  dispatcher.setCapable(undefined)
  fake.run()
  t.equal(offered(polls.old), second, 'a change of the manifests wakes')
})

t.test('one request with full access at full throttle per repository is out, through every held state', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 9 }, r2: { capacity: 9 } })
  const first = fake.create({ ...full, project: 'alpha', repository: 'acme/site' })
  const second = fake.create({ ...full, project: 'beta', repository: 'acme/site' })
  fake.run()
  poll(dispatcher, 'r1')
  const asked = poll(dispatcher, 'r2')
  fake.run()
  const steps: [string, () => void][] = [
    ['accepted', () => fake.report(first, 'accepted')],
    ['started', () => fake.report(first, 'started')],
    ['lost', () => fake.send(first, 'lease_expired', { attempt: 1 })],
    ['started', () => fake.report(first, 'heartbeat')],
    ['cancelling', () => fake.send(first, 'cancel')],
  ]
  for (const [state, move] of steps) {
    move()
    fake.run()
    t.equal(fake.state(first), state)
    t.equal(asked.answer, undefined, `${state} holds the repository`)
  }
  fake.report(first, 'failed', { class: 'cancelled' })
  fake.run()
  t.equal(offered(asked), second)
})

t.test('dry runs and read-only work neither hold a repository nor wait for it', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 9 } })
  const ids = [fake.create(full), fake.create(), fake.create({ ...full, access: 'read_only' }), fake.create(full)]
  fake.run()
  const got: (string | undefined)[] = []
  for (let turn = 0; turn < 4; turn++) {
    const asked = poll(dispatcher, 'r1', 0)
    fake.run()
    got.push(offered(asked))
    if (got.at(-1) !== undefined) fake.report(got.at(-1)!, 'started')
    fake.run()
  }
  t.same(got, [ids[0], ids[1], ids[2], undefined])
})

t.test('work without a repository locks none', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  fake.create({ ...full, repository: null })
  fake.create({ ...full, repository: null })
  const polls = [poll(dispatcher, 'r1'), poll(dispatcher, 'r2')]
  fake.run()
  t.ok(polls.every((asked) => offered(asked) !== undefined))
})
