import fc from 'fast-check'
import t from 'tap'
import { type FakeRuntime, offered, poll, type RequestGiven, type RunnerGiven } from './fake.ts'
import { everything, isReady, mayTake, Round, type Seen } from './oracle.ts'
import { world } from './world.ts'

const request: fc.Arbitrary<RequestGiven> = fc.record(
  {
    project: fc.constantFrom('alpha', 'beta', 'gamma'),
    priority: fc.integer({ min: -2, max: 2 }),
    throttle: fc.constantFrom('full', 'dry_run'),
    access: fc.constantFrom('full', 'read_only'),
    approved: fc.boolean(),
    repository: fc.constantFrom('acme/one', 'acme/two', null),
    lane: fc.constantFrom('interactive', 'campaign'),
    labels: fc.subarray(['gpu', 'linux']),
    runner_id: fc.constantFrom('r1', 'r2'),
  },
  { requiredKeys: ['project', 'labels'] },
)

const runners: Record<string, RunnerGiven> = {
  r1: { capacity: 1_000, labels: ['gpu', 'linux'] },
  r2: { capacity: 1_000, allowed_projects: ['alpha', 'beta'], labels: ['gpu'] },
  r3: { capacity: 1_000, trusted: false, labels: ['linux'] },
}

type Command =
  | { readonly do: 'create'; readonly given: RequestGiven }
  | { readonly do: 'poll'; readonly runner: string }
  | { readonly do: 'finish'; readonly which: number }
  | { readonly do: 'approve'; readonly which: number }
  | { readonly do: 'pause'; readonly lanes: readonly string[] }
  | { readonly do: 'limit'; readonly label: string; readonly to: number | undefined }
  | { readonly do: 'weigh'; readonly project: string; readonly to: number }

const which = fc.nat(1_000)
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('create' as const), given: request }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('poll' as const), runner: fc.constantFrom('r1', 'r2', 'r3') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('approve' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pause' as const), lanes: fc.subarray(['interactive', 'campaign']) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('limit' as const),
      label: fc.constantFrom('gpu', 'linux'),
      to: fc.constantFrom(undefined, 0, 1, 2, 3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('weigh' as const),
      project: fc.constantFrom('alpha', 'beta', 'gamma'),
      to: fc.constantFrom(1, 1, 2, 3, 100),
    }),
  },
)

/** The expected turns: a project whose first request becomes ready joins the round. */
class Rounds {
  readonly round = new Round()
  private readonly ready = new Map<string, number>()

  see(fake: FakeRuntime): void {
    const now = new Map<string, number>()
    for (const one of everything(fake)) {
      const { project } = one.context
      now.set(project, (now.get(project) ?? 0) + (isReady(one) ? 1 : 0))
    }
    for (const [project, count] of now) {
      const before = this.ready.get(project) ?? 0
      this.ready.set(project, count)
      if (count === 0 || before > 0) continue
      const waiting = [...this.ready].filter(([other, many]) => other !== project && many > 0)
      this.round.joins(
        project,
        waiting.map(([other]) => other),
      )
    }
  }
}

t.test('every poll gets the request that filtering and sorting all requests would give', async () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60, size: 'max' }), (commands) => {
      const { fake, dispatcher } = world(runners)
      const rounds = new Rounds()
      let paused: readonly string[] = []
      const limits = new Map<string, number>()
      for (const one of commands) {
        const all = everything(fake)
        if (one.do === 'create') fake.create(one.given)
        else if (one.do === 'pause') {
          paused = one.lanes
          dispatcher.setPausedLanes(paused)
        } else if (one.do === 'limit') {
          if (one.to === undefined) limits.delete(one.label)
          else limits.set(one.label, one.to)
          dispatcher.setLabelLimits(limits)
        } else if (one.do === 'weigh') {
          if (one.to === 1) rounds.round.weights.delete(one.project)
          else rounds.round.weights.set(one.project, one.to)
          dispatcher.setWeights(new Map(rounds.round.weights))
        } else if (one.do === 'poll') {
          const given = runners[one.runner]!
          const may = ({ context }: Seen) => mayTake(one.runner, given, context, all, paused, () => 1, limits)
          const mine = all.filter((other) => isReady(other) && may(other))
          const [expected] = rounds.round.sort(mine.map(({ context }) => context))
          const asked = poll(dispatcher, one.runner, 0)
          fake.run()
          if (offered(asked) !== expected) throw new Error(`${one.runner} got ${offered(asked)}, not ${expected}`)
          if (expected !== undefined) {
            rounds.round.served(fake.request(expected).context.project)
            fake.report(expected, 'started')
          }
        } else if (all.length > 0) {
          const { value, context } = all[one.which % all.length]!
          if (one.do === 'approve') fake.send(context.id, 'approve')
          else if (value === 'started') fake.report(context.id, 'completed')
        }
        fake.run()
        rounds.see(fake)
      }
    }),
    { numRuns: 300 },
  )
})

t.test('a project with a thousand requests does not hold up one with a few', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 1_000 } })
  for (let n = 0; n < 1_000; n++) fake.create({ project: 'noisy', priority: 100 })
  const quiet = [1, 2, 3].map(() => fake.create({ project: 'quiet', priority: -100 }))
  fake.run()
  const got: (string | undefined)[] = []
  for (let n = 0; n < 8; n++) {
    const asked = poll(dispatcher, 'r1', 0)
    fake.run()
    got.push(offered(asked))
    fake.report(got.at(-1)!, 'completed')
    fake.run()
  }
  t.same(
    got.filter((_, n) => n % 2 === 1),
    [...quiet, got.at(-1)],
    'every second hand-out goes to it while it has any',
  )
})

t.test('a project with one request at a time gets one turn in every round', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  for (let n = 0; n < 50; n++) for (const project of ['a', 'b']) fake.create({ project })
  const got: string[] = []
  fake.create({ project: 'single' })
  fake.run()
  for (let n = 0; n < 30; n++) {
    const asked = poll(dispatcher, 'r1', 0)
    fake.run()
    const { project } = fake.request(offered(asked)!).context
    got.push(project)
    if (project === 'single') fake.create({ project: 'single' })
    fake.report(offered(asked)!, 'completed')
    fake.run()
  }
  for (const project of ['a', 'b', 'single']) t.equal(got.filter((one) => one === project).length, 10, project)
})

t.test('of the places of busy runners, a project of weight 3 gets three of four while others have work', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 }, r2: { capacity: 2 } })
  dispatcher.setWeights(new Map([['heavy', 3]]))
  for (let n = 0; n < 80; n++) fake.create({ project: 'light', priority: 5 })
  for (let n = 0; n < 80; n++) fake.create({ project: 'heavy' })
  fake.run()
  const got: string[] = []
  const places: string[] = []
  for (let n = 0; n < 80; n++) {
    const asked = poll(dispatcher, n % 2 === 0 ? 'r1' : 'r2', 0)
    fake.run()
    const id = offered(asked)!
    got.push(fake.request(id).context.project)
    fake.report(id, 'started')
    places.push(id)
    if (places.length > 2) fake.report(places.shift()!, 'completed')
    fake.run()
  }
  t.equal(got.slice(-40).filter((project) => project === 'heavy').length, 30)
  t.notOk(got.slice(-40).join().includes('light,light'), 'spread')
  dispatcher.setWeights(new Map())
  for (const id of places) fake.report(id, 'completed')
  fake.run()
  const even: string[] = []
  for (let n = 0; n < 8; n++) {
    const asked = poll(dispatcher, 'r1', 0)
    fake.run()
    even.push(fake.request(offered(asked)!).context.project)
    fake.report(offered(asked)!, 'completed')
    fake.run()
  }
  t.equal(even.filter((project) => project === 'heavy').length, 4, 'without weights, turn by turn')
})

t.test('within a project, requests go by priority, then age', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 10 } })
  const old = fake.create({ priority: 0 })
  const low = fake.create({ priority: -1 })
  const high = fake.create({ priority: 5 })
  const young = fake.create({ priority: 0 })
  fake.run()
  const got: (string | undefined)[] = []
  for (let n = 0; n < 4; n++) {
    const asked = poll(dispatcher, 'r1', 0)
    fake.run()
    got.push(offered(asked))
    fake.report(got.at(-1)!, 'accepted')
    fake.run()
  }
  t.same(got, [high, old, young, low])
})
