/** Programming errors in the scheduler's ticks, injected here because it should have none. */
import t from 'tap'
import { LANES } from '../../../machines/run-request/lanes.ts'
import { readFailureToldMs, setAsideRetryMs, tickRetryMsMax } from '../../../runtime/limits.ts'
import { Quarantined } from '../../../runtime/reader.ts'
import { JournalFailure } from '../../../storage/journal.ts'
import { itemId, World } from './world.ts'

const NO_REASON = { reason: undefined } as object

/** An item whose context is unusable. */
const senseless = (id: string) => (snapshot: any) =>
  snapshot.context.id === id ? { ...snapshot, context: { id } } : snapshot

/** A world with two projects. */
function world(): World {
  const world = new World()
  for (const key of ['a', 'b']) world.project(key)
  return world
}

for (const type of ['admit', 'hand_out', 'block']) {
  t.test(`an item whose ${type} message throws is passed over, retried ever later, and the other items go on`, (t) => {
    const w = world()
    // `block` needs a dependency that cannot land; `admit` needs an item without a reason.
    const more = { ...(type === 'block' && { depends_on: [itemId(999)] }), ...(type === 'admit' && NO_REASON) }
    let tries = 0
    w.failsAt = (ref, message) => {
      const fails = ref.id === itemId(1) && message.type === type
      if (fails) tries++
      return fails
    }
    const poison = w.submit('a', more)
    const before = w.item(poison).value
    const other = w.submit('b')
    t.ok(w.isHandedOut(other))
    t.match(w.told, [{ by: 'scheduler', kind: 'work_item', id: poison, failures: 1, retry_in_ms: setAsideRetryMs }])
    t.equal(w.told[0].err.message, 'a mistake')
    t.match(w.scheduler.health, { passedOverCount: 1, ticksFailed: 0 })
    t.equal(w.scheduler.waitingBecause(poison)?.code, 'passed_over')
    w.platform.advance(setAsideRetryMs - 2)
    t.same([tries, w.told.length], [1, 1], 'ticks for other items leave it alone')
    w.platform.advance(1)
    t.match(w.told.slice(1), [{ id: poison, failures: 2, retry_in_ms: 2 * setAsideRetryMs }])
    w.platform.advance(2 * setAsideRetryMs)
    t.match(w.told.slice(2), [{ id: poison, failures: 3, retry_in_ms: 4 * setAsideRetryMs }])
    t.equal(w.item(poison).value, before)
    w.failsAt = () => false
    w.platform.advance(4 * setAsideRetryMs)
    if (type === 'block') t.equal(w.item(poison).value, 'needs_decision')
    else t.ok(w.isHandedOut(poison))
    t.match(w.scheduler.health, { passedOverCount: 0, ticksFailed: 0 })
    t.equal(w.told.length, 3)
    t.end()
  })
}

t.test('an item that answers its hand-out with internal_error is passed over, and not asked again early', (t) => {
  const w = world()
  const { runtime } = w
  const { ask } = runtime
  let asked = 0
  runtime.ask = (ref, message, reply) => {
    if (message.type !== 'hand_out') return ask.call(runtime, ref, message, reply)
    asked++
    w.platform.nextTurn(() => reply({ ok: false, refusal: { code: 'internal_error', detail: 'The step failed.' } }))
  }
  const id = w.submit('a')
  t.equal(asked, 1)
  w.platform.advance(setAsideRetryMs - 1)
  t.equal(asked, 1)
  w.platform.advance(1)
  t.equal(asked, 2)
  t.match(w.told, [
    { id, failures: 1 },
    { id, failures: 2 },
  ])
  t.end()
})

t.test('a line whose eligibility check throws waits, and is logged once a try', (t) => {
  const w = world()
  w.canTake = ({ project }) => {
    if (project === 'a') throw new TypeError('a mistake')
    return true
  }
  const [first, second] = [w.submit('a'), w.submit('a')]
  t.ok(w.isHandedOut(w.submit('b')))
  t.match(w.told, { length: 1, 0: { id: first } }, 'the check is made once for the whole line')
  for (const id of [first, second]) t.equal(w.scheduler.waitingBecause(id)?.code, 'passed_over')
  const told = w.told.filter(({ id }) => id === first)
  t.equal(told.length, 1)
  t.equal(w.scheduler.health.ticksFailed, 0)
  w.canTake = () => true
  w.platform.advance(15_000)
  t.ok(w.isHandedOut(first))
  t.notOk(w.isHandedOut(second), 'its repository is busy')
  t.equal(w.scheduler.health.passedOverCount, 0)
  t.end()
})

t.test('a handed-out item whose eligibility check throws takes one place and blocks nothing else', (t) => {
  const w = world()
  w.capacity = 2
  const first = w.submit('a')
  t.ok(w.isHandedOut(first))
  w.canTake = ({ project }) => {
    if (project === 'a') throw new TypeError('a mistake')
    return true
  }
  w.submit('b', { depends_on: [first] })
  // A tick comes and checks again which runners are there.
  w.platform.advance(15_000)
  w.project('c')
  w.project('d')
  t.ok(w.isHandedOut(w.submit('c')))
  t.notOk(w.isHandedOut(w.submit('d')), 'both places are taken')
  t.match(w.scheduler.health, { passedOverCount: 1, ticksFailed: 0 })
  t.end()
})

t.test(
  'an error that concerns no single item makes the scheduler pause, longer each time, not once per commit',
  (t) => {
    const w = world()
    w.capacityOf = () => {
      throw new TypeError('a mistake')
    }
    const id = w.submit('a')
    const { told } = w
    t.equal(w.item(id).value, 'queued', 'its creation was done before')
    t.match(told, [
      { by: 'scheduler', failures: 1, retry_in_ms: 1_000, said: 'the scheduler failed; pausing before the retry' },
    ])
    for (let n = 0; n < 10; n++) w.submit('b')
    t.equal(told.length, 1)
    w.platform.advance(1_000)
    t.match(told[1], { failures: 2, retry_in_ms: 2_000 })
    w.platform.advance(60_000)
    t.equal(told.at(-1).retry_in_ms, tickRetryMsMax)
    t.match(w.scheduler.health, { passedOverCount: 0, ticksFailed: told.length })
    w.capacityOf = () => 1
    w.platform.advance(tickRetryMsMax)
    t.ok(w.isHandedOut(id))
    const before = told.length
    w.capacityOf = () => {
      throw new TypeError('a mistake')
    }
    w.end(id)
    w.platform.advance(15_000)
    t.match(told[before], { failures: 1, retry_in_ms: 1_000 }, 'the pauses start from the shortest again')
    t.end()
  },
)

t.test('items passed over during a general failure are retried when it is over', (t) => {
  const w = world()
  w.failsAt = ({ id }, { type }) => id === itemId(1) && type === 'hand_out'
  const id = w.submit('a')
  // A step of the other item cannot be taken in either.
  const held = w.submit('b', { not_before: new Date(w.platform.wallMs() + 60_000).toISOString() })
  w.shown = senseless(held)
  w.ask('work_item', held, { type: 'hold' })
  w.shown = (snapshot) => snapshot
  w.capacityOf = () => {
    throw new TypeError('another')
  }
  w.platform.advance(15_000)
  t.ok(w.scheduler.health.ticksFailed > 0)
  t.equal(w.scheduler.health.passedOverCount, 2)
  w.failsAt = () => false
  w.capacityOf = () => 1
  w.platform.advance(tickRetryMsMax)
  t.ok(w.isHandedOut(id))
  t.equal(w.scheduler.health.passedOverCount, 0)
  t.end()
})

t.test('a JournalFailure ends the tick and is not treated as an error of the item', (t) => {
  const w = world()
  const id = w.submit('a', { not_before: new Date(w.platform.wallMs() + 5_000).toISOString() })
  w.canTake = () => {
    throw new JournalFailure('the disk is gone')
  }
  t.throws(() => w.platform.advance(20_000), JournalFailure)
  t.match([w.told, w.scheduler.health], [[], { passedOverCount: 0, ticksFailed: 0 }])
  t.notOk(w.isHandedOut(id))
  t.end()
})

t.test('an item that the ledger cannot take in does not keep the scheduler from starting', (t) => {
  const before = world()
  before.pause('interactive')
  const poison = before.submit('a')
  const other = before.submit('b')
  before.shown = senseless(poison)
  const w = before.restarted()
  t.match(w.told, [{ kind: 'work_item', id: poison, failures: 1 }])
  w.resume('interactive')
  t.ok(w.isHandedOut(other))
  t.notOk(w.isHandedOut(poison))
  t.match(w.scheduler.health, { passedOverCount: 1, ticksFailed: 0 })
  w.shown = (snapshot) => snapshot
  w.platform.advance(setAsideRetryMs)
  t.ok(w.isHandedOut(poison), 'its committed state is read again')
  t.equal(w.scheduler.health.passedOverCount, 0)
  t.end()
})

t.test('a step that the ledger cannot take in hides no other step of its commit', (t) => {
  const w = world()
  w.pause('interactive')
  const [poison, other] = [w.submit('a'), w.submit('b')]
  w.shown = senseless(poison)
  for (const id of [poison, other]) w.runtime.ask({ kind: 'work_item', id }, { type: 'hold' } as never, () => {})
  w.platform.run()
  t.match(w.told, [{ kind: 'work_item', id: poison, failures: 1 }])
  t.equal(w.scheduler.waitingBecause(other)?.code, 'held')
  w.shown = (snapshot) => snapshot
  w.platform.advance(setAsideRetryMs)
  t.equal(w.scheduler.waitingBecause(poison)?.code, 'held')
  t.equal(w.scheduler.health.passedOverCount, 0)
  t.end()
})

t.test('lanes whose pausing failed are paused once that works again, and no other lanes', (t) => {
  const w = world()
  const { setPausedLanes } = w
  w.setPausedLanes = () => {
    throw new TypeError('a mistake')
  }
  w.pause('campaign')
  w.platform.advance(setAsideRetryMs)
  t.match(w.told, [
    { kind: 'pacing', failures: 1 },
    { kind: 'pacing', failures: 2, retry_in_ms: 2 * setAsideRetryMs },
  ])
  t.equal(w.scheduler.health.passedOverCount, 1, 'still failing')
  w.setPausedLanes = setPausedLanes
  w.platform.advance(2 * setAsideRetryMs)
  t.same(w.pausedLanes, ['campaign'])
  t.match(w.scheduler.view(), { paused: ['campaign'], isUnreadable: false })
  t.equal(w.scheduler.health.passedOverCount, 0)
  t.ok(w.isHandedOut(w.submit('a')))
  t.end()
})

/** A scheduler that starts while its pause state cannot be read. */
function withoutPauses(w: World, error: Error) {
  const { runtime } = w
  const { read } = runtime
  runtime.read = (ref) => {
    if (ref.kind === 'pacing') throw error
    return read.call(runtime, ref)
  }
  const mend = () => {
    runtime.read = read
  }
  const scheduler = w.another()
  return { scheduler, mend }
}

t.test('a quarantined pause state pauses every lane until a readable one is committed', (t) => {
  const w = world()
  const { scheduler } = withoutPauses(w, new Quarantined('it cannot be read'))
  t.match(scheduler.view(), { paused: LANES, isUnreadable: true })
  t.same(w.pausedLanes, LANES)
  w.platform.advance(60_000)
  t.match([w.told, scheduler.health], [[], { passedOverCount: 0 }], 'that is not a programming error')
  w.pause('campaign')
  t.match(scheduler.view(), { paused: ['campaign'], isUnreadable: false })
  t.same(w.pausedLanes, ['campaign'])
  t.end()
})

t.test('an error in reading the pause state at start pauses every lane, and is logged and retried', (t) => {
  const w = world()
  const { scheduler, mend } = withoutPauses(w, new TypeError('a mistake'))
  t.match(scheduler.view(), { paused: LANES, isUnreadable: false })
  t.match(w.told, [{ kind: 'pacing', failures: 1 }])
  mend()
  w.platform.advance(setAsideRetryMs)
  t.same([...scheduler.view().paused], [])
  t.equal(scheduler.health.passedOverCount, 0)
  t.end()
})

t.test('a JournalFailure in reading the pause state fails the start unchanged', (t) => {
  t.throws(() => withoutPauses(world(), new JournalFailure('the disk is gone')), JournalFailure)
  t.end()
})

t.test('an error that only a reader meets passes over no item, and is logged once a minute', (t) => {
  const w = world()
  w.canTake = () => false
  const id = w.submit('a')
  // No detail exists here of why no runner may take it.
  const poll = () => w.scheduler.waiting.stranded(() => true)(10, undefined).rows
  const everyMs = 100
  for (let passedMs = 0; passedMs < readFailureToldMs; passedMs += everyMs) {
    t.same(poll(), [])
    w.platform.advance(everyMs)
  }
  t.match(w.told, [{ by: 'scheduler', kind: 'work_item', id, said: 'the scheduler failed to report a status' }])
  t.equal(w.told.length, 1)
  poll()
  t.equal(w.told.length, 2)
  t.match(w.scheduler.health, { passedOverCount: 0, ticksFailed: 0 })
  w.canTake = () => true
  w.platform.advance(15_000)
  t.ok(w.isHandedOut(id))
  t.end()
})

t.test('asking why an item waits does not pass it over when the reason cannot be told', (t) => {
  const w = world()
  w.capacity = 0
  const id = w.submit('a')
  const { holders } = w
  w.holders = undefined as never
  for (let n = 0; n < 3; n++) {
    t.equal(w.scheduler.waitingBecause(id)?.code, 'passed_over')
    w.platform.advance(1_000)
  }
  t.equal(w.told.length, 1)
  t.equal(w.scheduler.health.passedOverCount, 0)
  w.holders = holders
  t.equal(w.scheduler.waitingBecause(id)?.code, 'running_cap')
  t.end()
})

t.test('an item whose row cannot be rendered leaves a page its other rows', (t) => {
  const w = world()
  const { read } = w.runtime
  w.runtime.read = (ref) => (ref.kind === 'project' ? ({ value: 'active' } as never) : read.call(w.runtime, ref))
  const id = w.submit('a')
  t.match(w.told, [{ id, said: 'the scheduler failed on this entity; skipping it until the retry' }])
  const [entry] = w.scheduler.view().firstWaiting(1, () => true)
  t.equal(w.scheduler.view().repositoryOf(entry!), undefined)
  // No detail exists here of why no runner may take it.
  t.equal(w.scheduler.waiting.strandedBecause(id), undefined)
  t.match(w.told.slice(1), { length: 1, 0: { id, said: 'the scheduler failed to report a status' } })
  t.end()
})

t.test('when the dispatcher fails to say why an item waits, readers get passed_over', (t) => {
  const w = world()
  const id = w.submit('a')
  w.waitingBecause = () => {
    throw new TypeError('a mistake')
  }
  t.ok(w.isHandedOut(id))
  t.equal(w.scheduler.waitingBecause(id)?.code, 'passed_over')
  t.match(w.told, { length: 1, 0: { id } })
  t.end()
})

t.test('a line whose eligibility check throws is not checked again before its retry time', (t) => {
  const w = world()
  let asked = 0
  w.canTake = ({ project }) => {
    if (project !== 'a') return true
    asked++
    throw new TypeError('a mistake')
  }
  w.submit('a')
  for (let n = 0; n < 10; n++) w.submit('b')
  t.equal(asked, 1)
  w.platform.advance(setAsideRetryMs)
  t.equal(asked, 2)
  t.end()
})

t.test('the first item of a line, when passed over, leaves the line to the others', (t) => {
  const w = world()
  w.failsAt = (ref, message) => ref.id === itemId(1) && message.type === 'hand_out'
  const [poison, other] = [w.submit('a'), w.submit('a')]
  t.match(w.told, [{ id: poison, failures: 1 }])
  t.ok(w.isHandedOut(other))
  t.end()
})
