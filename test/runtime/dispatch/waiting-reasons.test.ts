import t from 'tap'
import { poll, type RequestGiven, type RunnerGiven } from './fake.ts'
import { world } from './world.ts'

const blocked: RequestGiven = {
  throttle: 'full',
  approved: false,
  not_before: '2026-06-01T00:00:00Z',
  lane: 'campaign',
  labels: ['gpu', 'linux'],
  repository: 'acme/site',
}

t.test('reasons for waiting are given in the order in which a person would have to remove them', async (t) => {
  const { fake, dispatcher } = world({ holder: { labels: ['only-holder', 'linux'] } })
  dispatcher.setPausedLanes(['campaign'])
  const held = fake.create({
    ...blocked,
    approved: true,
    not_before: '2025-01-01T00:00:00Z',
    lane: 'interactive',
    labels: ['only-holder', 'linux'],
  })
  fake.run()
  poll(dispatcher, 'holder')
  fake.run()
  fake.report(held, 'started')
  const id = fake.create(blocked)
  fake.run()
  const said: string[] = []
  const next = (change: () => void): void => {
    const because = dispatcher.waitingBecause(id)
    said.push(`${because?.code}: ${because?.detail}`)
    change()
    fake.run()
  }
  next(() => fake.send(id, 'not_before_reached'))
  next(() => dispatcher.setPausedLanes([]))
  dispatcher.setLabelLimits(new Map([['linux', 1]]))
  next(() => fake.project('alpha', 2))
  next(() => fake.report(held, 'completed'))
  dispatcher.setLabelLimits(new Map([['linux', 0]]))
  next(() => dispatcher.setLabelLimits(new Map()))
  next(() => fake.send(id, 'approve'))
  fake.runner('holder', { state: 'removed' })
  fake.run()
  next(() => fake.runner('r1', { allowed_projects: ['beta'], labels: [], trusted: false }))
  next(() => fake.runner('r1', { labels: [], trusted: false }))
  next(() => fake.runner('r1', { labels: ['gpu'], trusted: true }))
  dispatcher.setCapable(() => false)
  next(() => fake.runner('r1', { labels: ['gpu', 'linux'] }))
  next(() => dispatcher.setCapable(undefined))
  next(() => dispatcher.touch('r1'))
  next(() => fake.runner('r1', { labels: ['gpu', 'linux'], state: 'draining' }))
  next(() => fake.runner('r1', { labels: ['gpu', 'linux'] }))
  const other = fake.create({ runner_id: 'r1' })
  fake.run()
  const asked = poll(dispatcher, 'r1')
  fake.run()
  t.ok(asked.answer, 'one of the two is offered')
  t.equal(fake.state(id), 'offered')
  t.equal(dispatcher.waitingBecause(id), undefined, 'a request that is not queued does not wait')
  t.match(dispatcher.waitingBecause(other), { code: 'all_busy', detail: 'All slots are taken: r1.' })
  t.matchOnly(said, [
    'not_before: Not to be offered before 2026-06-01T00:00:00Z.',
    'lane_paused: The lane campaign is paused.',
    `repository_busy: Repository acme/site is held by ${held} (started, runner holder).`,
    'label_limit: 1 of 1 runs with the label linux are under way.',
    'label_limit: The label linux is limited to 0.',
    'not_approved: Work with throttle full waits for an approval of its own.',
    'no_runner_registered: No runner is registered.',
    'no_runner_allowed: No runner is allowed for alpha.',
    'no_runner_allowed: Work with full access at throttle full needs a trusted runner; not trusted: r1.',
    'no_runner_with_labels: No runner allowed for alpha has the labels: gpu, linux.',
    'no_capable_engine: The manifests of r1 do not support execution_requested at throttle full.',
    'no_runner_online: Offline: r1.',
    'next: Goes to the next poll of r1 when its turn comes.',
    'draining: Draining: r1.',
  ])
})

t.test('a request pinned to a runner names that runner in its reason', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: { allowed_projects: [] }, r3: { state: 'removed' } })
  const runners: [string, string][] = [
    ['r9', 'no_runner_registered: Runner r9, which it names, is not registered.'],
    ['r3', 'runner_removed: Runner r3, which it names, was removed.'],
    ['r2', 'no_runner_allowed: No runner named r2 is allowed for alpha.'],
    ['r1', 'no_runner_online: Offline: r1.'],
  ]
  for (const [runner_id, expected] of runners) {
    const id = fake.create({ runner_id })
    fake.run()
    const because = dispatcher.waitingBecause(id)
    t.equal(`${because?.code}: ${because?.detail}`, expected)
  }
})

t.test('unknown and settled requests have no reason to wait', async (t) => {
  const { fake, dispatcher } = world()
  t.equal(dispatcher.waitingBecause('runreq_00000000000000000000ffff'), undefined)
  const id = fake.create()
  fake.send(id, 'cancel')
  fake.run()
  t.equal(dispatcher.waitingBecause(id), undefined)
})

t.test('a request that a parked poll takes at once is never said to wait for a slot', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  poll(dispatcher, 'r1', 5_000)
  fake.run()
  const id = fake.create()
  const said = new Set<string>()
  for (let turns = 0; turns < 5; turns++) {
    fake.platform.runOnce()
    const because = dispatcher.waitingBecause(id)
    if (because !== undefined) said.add(`${because.code}: ${because.detail}`)
  }
  t.equal(fake.state(id), 'offered')
  t.ok(said.has('next: Being handed to r1.'))
  for (const why of said) t.match(why, /^next/)
})

t.test('reasons name at most three runners', async (t) => {
  const many: Record<string, RunnerGiven> = { a: {}, b: {}, c: {}, d: {}, e: {} }
  const { fake, dispatcher } = world(many)
  const id = fake.create()
  fake.run()
  t.equal(dispatcher.waitingBecause(id)?.detail, 'Offline: a, b, c and 2 more.')
})

t.test('however many items ask for the same, the fleet is asked once a turn', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  let looks = 0
  dispatcher.setCapable(() => ++looks === 0)
  const common = { project: 'alpha', throttle: 'dry_run', access: 'full', labels: [], furtherProjects: [] } as const
  const asked = { ...common, pin: undefined, entryEvent: 'execution_requested' }
  for (let items = 0; items < 3; items++) t.match(dispatcher.waiting.withoutTaker(asked), { code: 'no_capable_engine' })
  t.equal(looks, 1)
  fake.run()
  dispatcher.waiting.withoutTaker(asked)
  t.equal(looks, 2)
})
