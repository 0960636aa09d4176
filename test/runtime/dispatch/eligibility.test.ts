import t from 'tap'
import { offered, poll, projectId, type RequestGiven, type RunnerGiven } from './fake.ts'
import { world } from './world.ts'

const full: RequestGiven = { throttle: 'full', approved: true }

const table: readonly [string, RunnerGiven, RequestGiven, boolean][] = [
  ['a runner allowed * may take any project', { allowed_projects: ['*'] }, {}, true],
  ['a runner allowed a project by key may take it', { allowed_projects: ['beta', 'alpha'] }, {}, true],
  ['a project id in allowed_projects allows nothing', { allowed_projects: [projectId('alpha')] }, {}, false],
  ['a runner allowed another project may not take it', { allowed_projects: ['beta'] }, {}, false],
  ['an empty allowed_projects allows nothing', { allowed_projects: [] }, {}, false],
  [
    'a runner allowed every project that a request tells of may take it',
    { allowed_projects: ['beta', 'alpha'] },
    { told_of: ['beta'] },
    true,
  ],
  [
    'a runner allowed * may take a request that tells of another project',
    { allowed_projects: ['*'] },
    { told_of: ['beta'] },
    true,
  ],
  [
    'a runner may not take a request that tells of a project it is not allowed',
    { allowed_projects: ['alpha'] },
    { told_of: ['beta'] },
    false,
  ],
  ['nor may the pinned runner', { allowed_projects: ['alpha'] }, { told_of: ['beta'], runner_id: 'r1' }, false],
  ['a runner with every label takes it', { labels: ['gpu', 'linux', 'eu'] }, { labels: ['linux', 'gpu'] }, true],
  ['a runner that lacks a label does not take it', { labels: ['linux'] }, { labels: ['linux', 'gpu'] }, false],
  ['a runner with labels that were not asked for takes it', { labels: ['gpu'] }, {}, true],
  ['the pinned runner takes it', {}, { runner_id: 'r1' }, true],
  ['a runner other than the pinned one does not take it', {}, { runner_id: 'r2' }, false],
  ['the pinned runner needs no label', {}, { runner_id: 'r1', labels: ['gpu'] }, true],
  ['the pinned runner must be allowed the project', { allowed_projects: [] }, { runner_id: 'r1' }, false],
  [
    'the pinned runner must be trusted for full access at full throttle',
    { trusted: false },
    { ...full, runner_id: 'r1' },
    false,
  ],
  ['full access at full throttle needs a trusted runner', { trusted: false }, full, false],
  ['a trusted runner takes full access at full throttle', { trusted: true }, full, true],
  ['read-only access at full throttle needs no trust', { trusted: false }, { ...full, access: 'read_only' }, true],
  ['a dry run needs no trust', { trusted: false }, { throttle: 'dry_run' }, true],
  ['full throttle needs an approval', {}, { throttle: 'full', approved: false }, false],
  [
    'read-only access at full throttle needs an approval',
    {},
    { throttle: 'full', access: 'read_only', approved: false },
    false,
  ],
  ['a dry run needs no approval', {}, { throttle: 'dry_run', approved: false }, true],
  ['a request is not offered before its not_before', {}, { not_before: '2026-01-02T00:00:00Z' }, false],
  ['a request whose not_before has passed is offered', {}, { not_before: '2025-01-02T00:00:00Z' }, true],
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

t.test('a runner gets no request whose entry event its manifest does not serve', async (t) => {
  const { fake, dispatcher } = world({ old: {}, new: {} })
  const polls = { new: poll(dispatcher, 'new'), old: poll(dispatcher, 'old') }
  dispatcher.setCapable((runner, { entryEvent }) => runner === 'new' || entryEvent !== 'scan_requested')
  const scan = fake.create({ entry_event: 'scan_requested' })
  fake.run()
  t.equal(offered(polls.new), scan, 'although the other runner polled later')
  t.equal(polls.old.answer, undefined)
  const second = fake.create({ entry_event: 'scan_requested' })
  fake.run()
  t.equal(fake.state(second), 'queued')
  dispatcher.setCapable(undefined)
  fake.run()
  t.equal(offered(polls.old), second, 'a change of the manifests wakes its poll')
})

t.test(
  'in any state that holds the repository, a full-access full-throttle request blocks the next one there',
  async (t) => {
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
  },
)

t.test('as many change a repository at once as the project of each of them permits', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 9 } })
  fake.project('alpha', 3)
  fake.project('beta', 2)
  fake.run()
  const on = (project: string): string => {
    const id = fake.create({ ...full, project, repository: 'acme/site' })
    fake.run()
    return id
  }
  const next = (): string | undefined => {
    const asked = poll(dispatcher, 'r1', 0)
    fake.run()
    const id = offered(asked)
    if (id !== undefined) fake.report(id, 'started')
    fake.run()
    return id
  }
  const alpha = [on('alpha'), on('alpha')]
  t.same([next(), next()], alpha)
  const beta = on('beta')
  t.equal(next(), undefined, 'its own project permits two')
  fake.report(alpha[0]!, 'completed')
  fake.run()
  t.equal(next(), beta)
  const third = on('alpha')
  t.equal(next(), undefined, 'the project of one at work permits two')
  const held = `${alpha[1]} (started, runner r1) and ${beta} (started, runner r1)`
  t.match(dispatcher.waitingBecause(third), {
    code: 'repository_busy',
    detail: `Repository acme/site is held by ${held}.`,
  })
  fake.report(beta, 'completed')
  fake.run()
  t.equal(next(), third)
  const alone = on('gamma')
  t.equal(next(), undefined, 'one that says nothing wants it to itself')
  for (const id of [alpha[1]!, third]) fake.report(id, 'completed')
  fake.run()
  t.equal(next(), alone)
})

t.test('dry runs and read-only requests neither hold a repository nor wait for one', async (t) => {
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

t.test('requests without a repository lock none', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  fake.create({ ...full, repository: null })
  fake.create({ ...full, repository: null })
  const polls = [poll(dispatcher, 'r1'), poll(dispatcher, 'r2')]
  fake.run()
  t.ok(polls.every((asked) => offered(asked) !== undefined))
})
