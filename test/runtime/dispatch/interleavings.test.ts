import fc from 'fast-check'
import t from 'tap'
import { type Asked, offered, poll, type RequestGiven, type RunnerGiven } from './fake.ts'
import { everything, HOLDING, IN_SLOT, isReady, mayTake, mutates, type Seen, withLabel } from './oracle.ts'
import { type World, world } from './world.ts'

const LABEL = 'gpu'
const given: fc.Arbitrary<RequestGiven> = fc.record(
  {
    project: fc.constantFrom('alpha', 'beta'),
    throttle: fc.constantFrom('full', 'full', 'dry_run'),
    approved: fc.constantFrom(true, true, false),
    repository: fc.constantFrom('acme/one', 'acme/two'),
    lane: fc.constantFrom('interactive', 'campaign'),
    labels: fc.subarray([LABEL]),
    runner_id: fc.constantFrom('r1', 'r2'),
  },
  { requiredKeys: ['project'] },
)
const changed: fc.Arbitrary<RunnerGiven> = fc.record({
  capacity: fc.integer({ min: 1, max: 3 }),
  labels: fc.subarray(['gpu']),
  trusted: fc.boolean(),
  allowed_projects: fc.constantFrom(['*'], ['alpha'], []),
  state: fc.constantFrom('registered', 'registered', 'draining'),
})
const posts = ['accepted', 'started', 'completed', 'failed', 'release', 'heartbeat'] as const
const operations = ['cancel', 'requeue', 'approve', 'lease_expired', 'offer_expired', 'runner_session_started'] as const

const runner = fc.constantFrom('r1', 'r2', 'r3')
const which = fc.nat(1_000)
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), given }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('poll' as const), runner, waitMs: fc.constantFrom(0, 500, 60_000) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('abort' as const), which }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('post' as const), which, type: fc.constantFrom(...posts) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('operate' as const), which, type: fc.constantFrom(...operations) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('change' as const), runner, given: changed }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pause' as const), lanes: fc.subarray(['interactive', 'campaign']) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refuse' as const), isOn: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('limit' as const),
      project: fc.constantFrom('alpha', 'beta'),
      to: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('limitLabel' as const),
      to: fc.constantFrom(undefined, 0, 1, 2),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('run' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 5_000 }) }) },
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

class Play {
  readonly place: World
  readonly polls: Asked[] = []
  readonly fleet: Record<string, RunnerGiven> = {}
  readonly aborted = new Set<Asked>()
  paused: readonly string[] = []
  private readonly limits = new Map<string, number>()
  /** What held a repository when a limit last changed: as many as were permitted before. */
  private holdersBefore = new Set<string>()
  /** Once the service has refused writes, waiting requests are offered a moment later. */
  hasRefused = false

  constructor() {
    this.fleet = { r1: { capacity: 1 }, r2: { capacity: 2, labels: [LABEL] }, r3: { trusted: false } }
    this.place = world(this.fleet)
  }

  take(one: Command): void {
    const { fake, dispatcher } = this.place
    if (one.do === 'create') fake.create(one.given)
    else if (one.do === 'poll') this.polls.push(poll(dispatcher, one.runner, one.waitMs))
    else if (one.do === 'abort') this.abort(one.which)
    else if (one.do === 'post') this.aboutOne(one.which, (id) => fake.report(id, one.type))
    else if (one.do === 'operate') this.operate(one.which, one.type)
    else if (one.do === 'change') this.change(one.runner, one.given)
    else if (one.do === 'pause') this.pause(one.lanes)
    else if (one.do === 'refuse') this.refuse(one.isOn)
    else if (one.do === 'limit') this.limit(one.project, one.to)
    else if (one.do === 'limitLabel') this.limitLabel(one.to)
    else if (one.do === 'turn') fake.platform.runOnce()
    else if (one.do === 'run') fake.run()
    else fake.platform.advance(one.ms)
  }

  private pause(lanes: readonly string[]): void {
    this.paused = lanes
    this.place.dispatcher.setPausedLanes(lanes)
  }

  private refuse(isOn: boolean): void {
    this.place.fake.refusing = isOn ? 'disk_reserve' : undefined
    this.hasRefused ||= isOn
  }

  readonly limitOf = (project: string): number => this.limits.get(project) ?? 1

  /** What was on its way under the old limit arrives first. */
  private limit(project: string, to: number): void {
    const { fake } = this.place
    fake.run()
    this.holdersBefore = new Set(this.holders().map(keyOf))
    this.limits.set(project, to)
    fake.project(project, to)
    fake.run()
  }

  readonly labelLimits = new Map<string, number>()
  /** What was under way with a label when its limit last changed, without offers that were taken back. */
  private withLabelBefore = new Set<string>()

  private limitLabel(to: number | undefined): void {
    const { fake, dispatcher } = this.place
    if (to === undefined) this.labelLimits.delete(LABEL)
    else this.labelLimits.set(LABEL, to)
    dispatcher.setLabelLimits(this.labelLimits)
    fake.run()
    this.withLabelBefore = new Set(withLabel(LABEL, everything(fake)).map(keyOf))
  }

  /** Those with the label that came although as many as may be were under way. */
  overLimit(): string[] {
    const limit = this.labelLimits.get(LABEL)
    const all = withLabel(LABEL, everything(this.place.fake))
    if (limit === undefined || all.length <= limit) return []
    return all.map(keyOf).filter((key) => !this.withLabelBefore.has(key))
  }

  holders(): Seen[] {
    return everything(this.place.fake).filter(({ value, context }) => HOLDING.includes(value) && mutates(context))
  }

  /** The repositories with more holders than the project of one of them permits, though one came after the change. */
  overfull(): string[] {
    const all = this.holders()
    const repositories = new Set(all.map(({ context }) => context.made.repository!))
    return [...repositories].filter((repository) => {
      const holders = all.filter(({ context }) => context.made.repository === repository)
      const isNew = holders.some((one) => !this.holdersBefore.has(keyOf(one)))
      return isNew && holders.some(({ context }) => holders.length > this.limitOf(context.project))
    })
  }

  private abort(n: number): void {
    const open = this.polls.filter((asked) => asked.answers === 0)
    const asked = open[n % Math.max(1, open.length)]
    if (asked === undefined) return
    asked.handle.abort()
    this.aborted.add(asked)
  }

  private operate(n: number, type: (typeof operations)[number]): void {
    this.aboutOne(n, (id) => {
      const { attempt, offered_to } = this.place.fake.request(id).context
      this.place.fake.send(id, type, { attempt, runner_id: offered_to, counted: false })
    })
  }

  private change(id: string, changed: RunnerGiven): void {
    // A capacity below what is held is legal, and would only blur the check below.
    this.fleet[id] = { ...changed, capacity: Math.max(changed.capacity!, this.fleet[id]!.capacity ?? 1) }
    this.place.fake.runner(id, this.fleet[id])
  }

  private aboutOne(n: number, what: (id: string) => void): void {
    const all = everything(this.place.fake)
    if (all.length > 0) what(all[n % all.length]!.context.id)
  }
}

function keyOf({ context }: Seen): string {
  return `${context.id} ${context.attempt}`
}

/** Safety: what must hold at every moment, even in the middle of a commit. */
function checkSafety(play: Play): void {
  const { place, polls, fleet, aborted } = play
  const all = everything(place.fake)
  for (const [id, { capacity = 1 }] of Object.entries(fleet)) {
    const mine = all.filter(({ context }) => context.offered_to === id)
    if (mine.filter(({ value }) => value === 'offered').length > 1) throw new Error(`${id} has two unaccepted offers`)
    const revived = mine.filter(
      ({ value, context }) => IN_SLOT.includes(value) && context.times.lost_at !== undefined,
    ).length
    const used = mine.filter(({ value }) => IN_SLOT.includes(value)).length
    if (used - revived > capacity) throw new Error(`${id} holds ${used} of ${capacity}`)
  }
  const overfull = play.overfull()
  if (overfull.length > 0) throw new Error(`too many hold ${overfull}`)
  const over = play.overLimit()
  if (over.length > 0) throw new Error(`beyond the limit of their label: ${over}`)
  for (const asked of polls) {
    if (asked.answers > 1) throw new Error('a poll was answered twice')
    if (aborted.has(asked) && asked.answers > 0) throw new Error('an aborted poll was answered')
  }
}

/** Liveness once everything is committed: no poll stays parked beside a request that its runner could take. */
function checkNothingLeft({ place, polls, fleet, aborted, paused, limitOf, labelLimits }: Play): void {
  const all = everything(place.fake)
  const parked = polls.filter((asked) => asked.answers === 0 && !aborted.has(asked))
  if (place.dispatcher.counts().parkedPolls !== parked.length) throw new Error('parked polls are miscounted')
  for (const { runner: id } of parked) {
    const runner = fleet[id]!
    const mine = all.filter(({ value, context }) => context.offered_to === id && IN_SLOT.includes(value))
    if (runner.state === 'draining' || mine.some(({ value }) => value === 'offered')) continue
    if (mine.length >= (runner.capacity ?? 1)) continue
    const missed = all.find(
      (one) => isReady(one) && mayTake(id, runner, one.context, all, paused, limitOf, labelLimits),
    )
    if (missed !== undefined) throw new Error(`${id} waits beside ${missed.context.id}`)
  }
}

t.test(
  'in any interleaving no slot or repository is given twice, and no poll stays parked beside work that it could take',
  async () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 80, size: 'max' }), (commands) => {
        const play = new Play()
        for (const one of commands) {
          play.take(one)
          checkSafety(play)
          if (one.do === 'run' && !play.hasRefused) checkNothingLeft(play)
        }
        play.place.fake.refusing = undefined
        play.place.fake.platform.advance(1_500)
        checkSafety(play)
        checkNothingLeft(play)
        // Every parked poll ends in its time.
        for (const id of Object.keys(play.fleet))
          play.place.fake.runner(id, { ...play.fleet[id], allowed_projects: [] })
        play.place.fake.platform.advance(61_000)
        if (play.place.dispatcher.counts().parkedPolls > 0) throw new Error('a poll never ended')
      }),
      { numRuns: 400 },
    )
  },
)

t.test('an offer whose poll is gone is back in the queue in a moment', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  for (let round = 0; round < 20; round++) {
    poll(dispatcher, 'r1').handle.abort()
    fake.run()
    t.equal(fake.state(id), 'queued')
  }
  const asked = poll(dispatcher, 'r1')
  fake.run()
  t.equal(offered(asked), id, 'twenty dead connections cost it nothing')
})
