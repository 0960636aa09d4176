/** Programming errors in the dispatcher's own work, injected here because it should have none. */
import t from 'tap'
import { createDispatcher } from '../../../runtime/dispatch/dispatcher.ts'
import { mistakesPerSettleMax } from '../../../runtime/dispatch/offers.ts'
import { setAsideRetryMs } from '../../../runtime/limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { JournalFailure } from '../../../storage/journal.ts'
import { type Mistakes, mistaken } from '../mistaken.ts'
import { FakeRuntime, offered, poll, type RunnerGiven } from './fake.ts'

const asIs: Mistakes['shown'] = (snapshot) => snapshot
/** An entity whose context is unusable. */
const senseless =
  (id: string): Mistakes['shown'] =>
  (snapshot) =>
    snapshot.context.id === id ? { ...snapshot, context: { id } as object } : snapshot

function aMistake(): never {
  throw new TypeError('a mistake')
}

/** A dispatcher with one runner, unless others or an earlier world are given. */
function world(runners: Record<string, RunnerGiven> = { r1: {} }, before?: FakeRuntime, shown = asIs) {
  const fake = new FakeRuntime()
  if (before !== undefined) fake.adopt(before)
  const { read } = fake
  // What is set on it belongs to this world.
  fake.beforeDue = fake.beforeDue.bind(fake)
  fake.read = (ref) => {
    const found = read.call(fake, ref)
    return found && mistakes.shown(found)
  }
  const told: any[] = []
  const log = { ...silentLogger, error: (fields: object, said: string) => told.push({ ...fields, said }) }
  const mistakes: Mistakes = { failsAt: () => false, shown }
  const dispatcher = createDispatcher(mistaken(fake.runtime, mistakes), log)
  for (const [id, given] of Object.entries(before === undefined ? runners : {})) fake.runner(id, given)
  fake.run()
  const create = (given = {}): string => {
    const id = fake.create(given)
    fake.run()
    return id
  }
  const parked = (runner = 'r1', waitMs?: number) => {
    const asked = poll(dispatcher, runner, waitMs)
    fake.run()
    return asked
  }
  const complete = (id: string): void => {
    fake.report(id, 'completed')
    fake.run()
  }
  return { fake, told, mistakes, dispatcher, create, parked, complete }
}

type World = ReturnType<typeof world>

/** Makes building the Execution Request of this request throw. */
function untellable({ fake }: World, id: string): () => void {
  const { deadlineMs } = fake
  fake.deadlineMs = ((ref: { id: string }) => (ref.id === id ? aMistake() : deadlineMs.call(fake))) as never
  return () => {
    fake.deadlineMs = deadlineMs
  }
}

t.test(
  'an offer that cannot be rendered is returned and retried ever later, and the runner gets another request',
  (t) => {
    const w = world()
    const poison = w.create()
    const mend = untellable(w, poison)
    const other = w.create({ project: 'beta' })
    t.equal(offered(w.parked()), other)
    t.match(w.told, [{ by: 'dispatcher', kind: 'run_request', id: poison, failures: 1, retry_in_ms: setAsideRetryMs }])
    t.equal(w.fake.state(poison), 'queued')
    t.match(w.dispatcher.health, { passedOverCount: 1, ticksFailed: 0 })
    w.complete(other)
    const next = w.parked()
    w.fake.platform.advance(setAsideRetryMs - 1)
    t.equal(w.told.length, 1, 'not retried early')
    w.fake.platform.advance(2)
    t.match(w.told.slice(1), [{ id: poison, failures: 2, retry_in_ms: 2 * setAsideRetryMs }])
    mend()
    w.fake.platform.advance(2 * setAsideRetryMs)
    t.equal(offered(next), poison)
    t.match(w.dispatcher.health, { passedOverCount: 0, ticksFailed: 0 })
    t.end()
  },
)

t.test('failures of a waiting request are remembered between polls, and forgotten when it is gone', (t) => {
  const w = world()
  const poison = w.create()
  const mend = untellable(w, poison)
  w.parked('r1', 0)
  w.fake.platform.advance(60_000)
  t.equal(w.dispatcher.health.passedOverCount, 1)
  w.parked('r1', 0)
  t.match(w.told, [{ failures: 1 }, { failures: 2 }])
  mend()
  w.fake.platform.advance(60_000)
  w.fake.send(poison, 'cancel', { reason: 'r', by: { id: 'tok_1', name: 'ann' } })
  w.fake.run()
  t.equal(w.fake.state(poison), 'cancelled')
  t.equal(w.dispatcher.health.passedOverCount, 0)
  t.end()
})

for (const [when, waitMs] of [
  ['does not wait', 0],
  ['waits', 60_000],
] as const) {
  t.test(`a request whose offer cannot be sent leaves a poll that ${when} to another request`, (t) => {
    const w = world()
    const poison = w.create()
    const other = w.create()
    w.mistakes.failsAt = ({ id }, { type }) => id === poison && type === 'offer'
    t.equal(offered(w.parked('r1', waitMs)), other)
    t.match(w.told, [{ by: 'dispatcher', id: poison, failures: 1 }])
    w.complete(other)
    const next = w.parked()
    w.mistakes.failsAt = () => false
    w.fake.platform.advance(setAsideRetryMs)
    t.equal(offered(next), poison)
    t.equal(w.dispatcher.health.passedOverCount, 0)
    t.end()
  })
}

t.test('a poll with a wait of 0 is answered empty when the only offer cannot be sent', (t) => {
  const w = world()
  w.create()
  w.mistakes.failsAt = (_, { type }) => type === 'offer'
  t.match(w.parked('r1', 0), { answers: 1, answer: { draining: false } })
  t.end()
})

t.test('a parked poll gets the other request of a commit when the first cannot be offered', (t) => {
  const w = world()
  const asked = w.parked()
  w.mistakes.failsAt = ({ id }, { type }) => type === 'offer' && id === 'runreq_000000000000000000000001'
  const poison = w.fake.create()
  const other = w.fake.create()
  w.fake.run()
  t.equal(offered(asked), other)
  t.match(w.told, [{ id: poison }])
  t.end()
})

t.test('a step that the dispatcher cannot take in hides no other step of its commit, and is taken in later', (t) => {
  const w = world()
  w.mistakes.shown = senseless('runreq_000000000000000000000001')
  const [poison, other] = [w.fake.create(), w.fake.create()]
  w.fake.run()
  t.match(w.told, [{ by: 'dispatcher', kind: 'run_request', id: poison, failures: 1 }])
  t.equal(offered(w.parked()), other)
  w.mistakes.shown = asIs
  w.complete(other)
  w.fake.platform.advance(setAsideRetryMs)
  t.equal(offered(w.parked()), poison)
  t.equal(w.dispatcher.health.passedOverCount, 0)
  t.end()
})

for (const kind of ['runner', 'held request', 'waiting request'])
  t.test(`a ${kind} that the dispatcher cannot take in at start affects nothing else, and is taken in later`, (t) => {
    const before = world({ r1: {}, r2: { allowed_projects: ['beta'] } })
    const held = before.create({ project: 'beta' })
    before.parked('r2')
    before.dispatcher.close()
    const [waiting, other] = [before.create({ project: 'gamma' }), before.create()]
    const bad = kind === 'runner' ? 'r2' : kind === 'held request' ? held : waiting
    const w = world({}, before.fake, senseless(bad))
    t.match(w.told, [{ by: 'dispatcher', id: bad, failures: 1 }])
    t.equal(offered(w.parked()), kind === 'waiting request' ? other : waiting)
    w.mistakes.shown = asIs
    w.fake.platform.advance(setAsideRetryMs)
    t.equal(w.dispatcher.health.passedOverCount, 0)
    t.same(w.dispatcher.heldBy('r2'), [{ id: held, attempt: 1 }])
    if (kind === 'waiting request') {
      w.complete(other)
      t.equal(offered(w.parked()), waiting)
    }
    t.end()
  })

t.test('a runner that cannot be taken offline does not keep others online, and is tried again', (t) => {
  const w = world({ r1: { online: true }, r2: { online: true } })
  const next = world({}, w.fake)
  next.mistakes.failsAt = ({ id }, { type }) => id === 'r1' && type === 'went_offline'
  const isOnline = (id: string) => next.fake.read({ kind: 'runner', id })!.context.internal.online
  next.fake.platform.advance(next.fake.settings.presenceMs + 100)
  t.same([isOnline('r1'), isOnline('r2')], [true, false])
  t.match(next.told, [{ by: 'dispatcher', kind: 'runner', id: 'r1', failures: 1 }])
  next.mistakes.failsAt = () => false
  next.fake.platform.advance(setAsideRetryMs + next.fake.settings.presenceMs + 100)
  t.same([isOnline('r1'), isOnline('r2')], [false, false])
  t.equal(next.dispatcher.health.passedOverCount, 0)
  t.end()
})

t.test('a runner whose capabilities cannot be checked gets nothing, and the other runners go on', (t) => {
  const w = world({ r1: {}, r2: {} })
  const [first, second] = [w.parked('r2'), w.parked('r1')]
  w.dispatcher.setCapable((runnerId) => runnerId !== 'r1' || aMistake())
  const id = w.create()
  t.equal(offered(first), id)
  t.match(w.told, [{ by: 'dispatcher', kind: 'runner', id: 'r1', failures: 1 }])
  const left = w.create({ project: 'beta' })
  t.match(w.parked('r1', 0), { answers: 1 }, 'its polls are answered')
  t.equal(w.told.length, 1, 'not checked again early')
  w.dispatcher.setCapable(() => true)
  w.fake.platform.advance(setAsideRetryMs)
  t.equal(offered(second), left)
  t.equal(w.dispatcher.health.passedOverCount, 0)
  t.end()
})

t.test(
  'an offer that cannot be aborted when its lane is paused does not keep other offers from being returned',
  (t) => {
    const w = world({ r1: {}, r2: {} })
    const [poison, other] = [w.create(), w.create({ project: 'beta' })]
    for (const id of ['r1', 'r2']) w.parked(id)
    w.mistakes.failsAt = ({ id }, { type }) => id === poison && type === 'offer_aborted'
    w.dispatcher.setPausedLanes(['interactive'])
    w.fake.run()
    t.match(w.told, [{ kind: 'run_request', id: poison }])
    t.same([w.fake.state(poison), w.fake.state(other)], ['offered', 'queued'])
    t.end()
  },
)

t.test('an offer ends uncounted when it cannot be told whether it counts', (t) => {
  const w = world()
  const id = w.create()
  w.parked()
  const { offers } = w.dispatcher as any
  offers.isCounted = aMistake
  t.equal(w.fake.offerCounted(id), false)
  t.match(w.told, [{ kind: 'run_request', id }])
  t.end()
})

t.test('a failing look-up of why a request waits answers passed_over, is logged once, and passes nothing over', (t) => {
  const w = world({})
  const [poison, other] = [w.create(), w.create()]
  w.mistakes.shown = senseless(poison)
  for (let n = 0; n < 3; n++) t.equal(w.dispatcher.waitingBecause(poison)?.code, 'passed_over')
  t.equal(w.dispatcher.waitingBecause(other)?.code, 'no_runner_registered')
  t.match(w.told, { length: 1, 0: { id: poison, said: 'the dispatcher failed to report a status' } })
  t.equal(w.dispatcher.health.passedOverCount, 0)
  t.end()
})

t.test('a request that is passed over gives that as its reason for waiting', (t) => {
  const w = world()
  const poison = w.create()
  untellable(w, poison)
  w.parked('r1', 0)
  t.equal(w.dispatcher.waitingBecause(poison)?.code, 'passed_over')
  t.end()
})

t.test('a poll whose answer throws while the dispatcher closes does not keep other polls from their answer', (t) => {
  const w = world({ r1: {}, r2: {} })
  w.dispatcher.poll('r1', 60_000, aMistake)
  const other = w.parked('r2')
  w.dispatcher.close()
  t.equal(other.answer, 'closing')
  t.match(w.told, [{ kind: 'runner', id: 'r1' }])
  t.end()
})

t.test(
  'an error that concerns no single request makes the dispatcher pause, longer each time, and then resume',
  (t) => {
    const w = world()
    const asked = w.parked()
    const { journal } = w.fake
    const { refuses } = journal
    journal.refuses = aMistake
    const id = w.create()
    t.match(w.told, [
      { by: 'dispatcher', failures: 1, retry_in_ms: 1_000, said: 'the dispatcher failed; pausing before the retry' },
    ])
    for (let n = 0; n < 10; n++) w.create()
    t.equal(w.told.length, 1)
    w.fake.platform.advance(1_100)
    t.match(w.told[1], { failures: 2, retry_in_ms: 2_000 })
    t.match(w.dispatcher.health, { passedOverCount: 0, ticksFailed: 2 })
    journal.refuses = refuses
    w.fake.platform.advance(2_100)
    t.equal(offered(asked), id)
    t.end()
  },
)

t.test(
  'an error that every offer meets is tried on a bounded number of requests, then counts as a failed tick',
  (t) => {
    const w = world()
    const count = 3 * mistakesPerSettleMax
    for (let n = 0; n < count; n++) w.fake.create()
    w.fake.run()
    w.mistakes.failsAt = (_, { type }) => type === 'offer'
    const asked = w.parked()
    t.ok(w.dispatcher.health.passedOverCount <= mistakesPerSettleMax + 2)
    t.equal(w.dispatcher.health.ticksFailed, 1)
    w.mistakes.failsAt = () => false
    w.fake.platform.advance(3 * setAsideRetryMs)
    t.ok(offered(asked))
    t.end()
  },
)

t.test('a JournalFailure passes through the dispatcher unchanged', (t) => {
  const w = world()
  w.create()
  w.mistakes.failsAt = (_, { type }) => {
    if (type === 'offer') throw new JournalFailure('the disk is gone')
    return false
  }
  t.throws(() => w.parked(), JournalFailure)
  t.match([w.told, w.dispatcher.health], [[], { passedOverCount: 0, ticksFailed: 0 }])
  t.end()
})
