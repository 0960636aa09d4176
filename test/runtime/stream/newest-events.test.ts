/**
 * Look-ups of an event by its id alone: waiting look-ups share reads, each row is read once, and a turn reads few rows.
 */
import { createHash } from 'node:crypto'
import { setImmediate as untilNext } from 'node:timers/promises'
import t from 'tap'
import { idOfText } from '../../../machines/events/event-text.ts'
import { Filter } from '../../../runtime/stream/filter.ts'
import type { EventFound } from '../../../runtime/stream/find-events.ts'
import { NewestEvents } from '../../../runtime/stream/newest-events.ts'
import { ReadTurns } from '../../../runtime/stream/read-turns.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { openIn } from '../../storage/open.ts'
import { appendEvents, event } from '../../storage/steps.ts'
import { type EventDraft, FakeJournal } from './fake-log.ts'

/** Digits as good as random ones, the same in each run. */
class MixedPlatform extends ManualPlatform {
  override randomHex(digits: number): string {
    return createHash('shake256', { outputLength: digits / 2 })
      .update('seed')
      .digest('hex')
  }
}

/** Without random digits every id has the same hash. */
class PlainPlatform extends ManualPlatform {
  override randomHex(digits: number): string {
    return '0'.repeat(digits)
  }
}

const idOf = (sequence: number): string => `evt_${sequence.toString(16).padStart(32, '0')}`
const ALL = new Filter({})
const UNKNOWN = `evt_${'f'.repeat(32)}`
const noted = (count: number, more: Partial<EventDraft> = {}): EventDraft[] =>
  Array.from({ length: count }, () => ({ event_type: 'noted', project: 'p', ...more }))

class Stand {
  readonly log = new FakeJournal()
  readonly platform: ManualPlatform
  readonly newest: NewestEvents
  /** Turns taken. */
  turns = 0

  constructor({ count = 0, rowsMax = 100_000, platform = new MixedPlatform() }) {
    this.platform = platform
    this.newest = new NewestEvents(this.log, new ReadTurns(platform), rowsMax)
    this.log.commit(noted(count))
  }

  find(id: string, isWanted = () => true, visible = ALL): Promise<EventFound> {
    return this.newest.find(id, visible, isWanted)
  }

  async turn(): Promise<void> {
    await untilNext()
    if (this.platform.runOnce()) this.turns += 1
    await untilNext()
  }

  /** Runs turns until the promise settles, at most 2,000; `onTurn` is called before each. */
  async until<V>(wanted: Promise<V>, onTurn = () => {}): Promise<V> {
    let isDone = false
    const done = wanted.finally(() => {
      isDone = true
    })
    done.catch(() => {})
    await untilNext()
    for (let turns = 0; !isDone; turns += 1) {
      if (turns > 2_000) throw new Error('it does not come to an end')
      onTurn()
      await this.turn()
    }
    return done
  }

  /** The sequence in the text found for this event's id, or what was found instead. */
  async sequenceOf(sequence: number): Promise<number | EventFound> {
    const found = await this.until(this.find(idOf(sequence)))
    if (found.text === undefined) return found
    return Number.parseInt(idOfText(found.text).slice(4), 16)
  }
}

t.test('an event is found by its id, an unknown id is not, and rows read once are not read again', async (t) => {
  const stand = new Stand({ count: 3_000 })
  t.equal(await stand.sequenceOf(7), 7)
  t.equal(stand.log.rowsBackward, 3_000)
  t.same(await stand.until(stand.find(UNKNOWN)), { isWhole: true })
  for (const sequence of [1, 2, 1_500, 2_999, 3_000]) t.equal(await stand.sequenceOf(sequence), sequence)
  t.equal(stand.log.rowsBackward, 3_000)
  stand.log.commit(noted(20))
  t.equal(await stand.sequenceOf(3_020), 3_020)
  t.same(await stand.until(stand.find(UNKNOWN)), { isWhole: true })
  t.equal(stand.log.rowsBackward, 3_020, 'only what was added since')
})

t.test('in an empty log nothing is found, and an event committed later is', async (t) => {
  const stand = new Stand({})
  t.same(await stand.find(UNKNOWN, () => true), { isWhole: true })
  stand.log.commit(noted(1))
  t.equal(await stand.sequenceOf(1), 1)
})

t.test('events that merely mention an id are not taken for the event', async (t) => {
  const stand = new Stand({ count: 3 })
  const payload = { id: idOf(2), text: `,"id":"${idOf(2)}"`, of: { a: 1, id: idOf(2) } }
  stand.log.commit(noted(2, { payload, by: `,"id":"${idOf(2)}"` }))
  t.equal(await stand.sequenceOf(2), 2)
  t.same(await stand.until(stand.find(UNKNOWN)), { isWhole: true })
})

t.test('for an id that is in several traces the newest event is found', async (t) => {
  const stand = new Stand({ count: 600 })
  const id = `evt_${'a'.repeat(32)}`
  for (const trace_id of ['1', '2']) stand.log.commit([...noted(1, { id, trace_id }), ...noted(600)])
  const { text } = await stand.until(stand.find(id))
  t.equal(JSON.parse(text!).trace_id, '2')
  stand.log.commit([...noted(1, { id, trace_id: '3' }), ...noted(1_200)])
  await stand.until(stand.find(UNKNOWN))
  t.equal(JSON.parse((await stand.find(id)).text!).trace_id, '3')
})

t.test('the newest rows are read first, also after many were added', async (t) => {
  const stand = new Stand({ count: 10_000 })
  t.equal(await stand.sequenceOf(10_000), 10_000)
  t.equal(stand.turns, 1)
  t.equal(stand.log.rowsBackward, 500)
  await stand.until(stand.find(UNKNOWN))
  stand.log.commit(noted(10_000))
  const { turns } = stand
  t.equal(await stand.sequenceOf(20_000), 20_000)
  t.equal(stand.turns, turns + 1)
  t.equal(stand.log.rowsBackward, 10_500)
})

t.test('concurrent look-ups share one page a turn, and each gets its own result', async (t) => {
  const stand = new Stand({ count: 10_000 })
  const asked = Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? i * 150 + 1 : undefined))
  const found = await stand.until(
    Promise.all(asked.map((sequence) => stand.find(sequence === undefined ? UNKNOWN : idOf(sequence)))),
  )
  t.same(
    found.map(({ text }) => text && idOfText(text)),
    asked.map((sequence) => sequence && idOf(sequence)),
  )
  t.equal(stand.log.rowsBackward, 10_000)
  t.equal(stand.turns, 20)
})

t.test('a look-up that joins others uses what they have read', async (t) => {
  const stand = new Stand({ count: 10_000 })
  const first = stand.find(UNKNOWN)
  for (let i = 0; i < 15; i += 1) await stand.turn()
  t.equal(await stand.sequenceOf(9_000), 9_000)
  t.equal(stand.turns, 15, 'at once')
  const both = await stand.until(Promise.all([first, stand.find(idOf(1)), stand.find(UNKNOWN)]))
  t.same(
    both.map(({ text }) => text && idOfText(text)),
    [undefined, idOf(1), undefined],
  )
  t.equal(stand.turns, 20)
})

t.test(
  "an aborted look-up does not end the reading of the others, and the last one's end stops the reading",
  async (t) => {
    const stand = new Stand({ count: 10_000 })
    let isThere = true
    const goes = stand.find(UNKNOWN, () => isThere)
    const stays = stand.find(idOf(6_000))
    for (let i = 0; i < 3; i += 1) await stand.turn()
    isThere = false
    t.match(await stand.until(stays), { isWhole: true, text: idOf(6_000) })
    t.same(await goes, { isWhole: false })
    t.equal(stand.log.rowsBackward, 4_500, 'nobody waits any more')
    t.equal(stand.platform.runOnce(), 0)
    t.equal(await stand.sequenceOf(1), 1)
    t.equal(stand.log.rowsBackward, 10_000, 'the next look-up goes on from there')
  },
)

t.test('ids with the same hash are told apart by their texts', async (t) => {
  const stand = new Stand({ count: 120, rowsMax: 80, platform: new PlainPlatform() })
  for (const sequence of [41, 42, 80, 119, 120]) t.equal(await stand.sequenceOf(sequence), sequence)
  for (const sequence of [1, 40]) t.same(await stand.sequenceOf(sequence), { isWhole: false })
  stand.log.commit(noted(30))
  for (const sequence of [71, 120, 121, 150]) t.equal(await stand.sequenceOf(sequence), sequence)
  t.same(await stand.sequenceOf(70), { isWhole: false })
})

t.test('only the newest rowsMax rows are looked at, however many are added', async (t) => {
  const stand = new Stand({ count: 400, rowsMax: 1_000 })
  t.same(await stand.until(stand.find(UNKNOWN)), { isWhole: true })
  let rows = 400
  for (const count of [599, 1, 1, 700, 999, 1_000, 3, 1_001, 5_000, 250, 0]) {
    stand.log.commit(noted(count))
    rows += Math.min(count, 1_000)
    const { lastSequence } = stand.log
    t.same(await stand.until(stand.find(UNKNOWN)), { isWhole: lastSequence <= 1_000 })
    const oldest = Math.max(1, lastSequence - 999)
    for (const sequence of [oldest, oldest + 1, lastSequence - 500, lastSequence])
      t.equal(await stand.sequenceOf(sequence), sequence)
    if (oldest > 1) t.same(await stand.sequenceOf(oldest - 1), { isWhole: false })
    t.equal(stand.log.rowsBackward, rows)
  }
})

t.test('events that retention removed are not found, and the rest counts as the whole log', async (t) => {
  const stand = new Stand({ count: 2_000, rowsMax: 1_500 })
  t.same(await stand.sequenceOf(500), { isWhole: false })
  t.equal(await stand.sequenceOf(600), 600)
  stand.log.trim(600)
  t.same(await stand.sequenceOf(600), { isWhole: true })
  t.equal(await stand.sequenceOf(601), 601)
  stand.log.trim(2_000)
  t.same(await stand.sequenceOf(2_000), { isWhole: true })
  stand.log.commit(noted(10))
  stand.log.trim(2_005)
  t.same(await stand.sequenceOf(2_005), { isWhole: true })
  t.equal(await stand.sequenceOf(2_006), 2_006)
})

t.test('retention during a look-up ends the reading at the new start of the log', async (t) => {
  const stand = new Stand({ count: 5_000 })
  const waiting = stand.find(idOf(2_500))
  t.same(await stand.until(waiting, () => stand.log.trim(stand.log.oldestSequence + 999)), { isWhole: true })
  t.equal(await stand.sequenceOf(5_000), stand.log.oldestSequence <= 5_000 ? 5_000 : { isWhole: true })
})

t.test('events committed during a look-up are found, read once each, and do not delay it', async (t) => {
  const stand = new Stand({ count: 10_000 })
  let later: Promise<EventFound[]> | undefined
  const old = await stand.until(stand.find(idOf(1)), () => {
    stand.log.commit(noted(40))
    if (stand.turns === 10) later ??= Promise.all([stand.find(idOf(stand.log.lastSequence)), stand.find(idOf(10_040))])
  })
  t.equal(idOfText(old.text!), idOf(1))
  t.equal(stand.turns, 20)
  for (const { text } of await stand.until(later!)) t.ok(text)
  await stand.until(stand.find(UNKNOWN))
  t.equal(stand.log.rowsBackward, stand.log.lastSequence)
})

t.test('commits that come faster than they are read do not keep a look-up from ending', async (t) => {
  const stand = new Stand({ count: 8_000, rowsMax: 5_000 })
  const onTurn = (): void => void stand.log.commit(noted(1_300))
  t.same(await stand.until(stand.find(UNKNOWN), onTurn), { isWhole: false })
  t.ok(stand.turns <= 25, `${stand.turns} turns`)
  t.same(await stand.until(stand.find(UNKNOWN), onTurn), { isWhole: false })
})

t.test('large events are read a few at a time', async (t) => {
  const stand = new Stand({})
  stand.log.commit(noted(20, { payload: { text: 'x'.repeat(300_000) } }))
  t.equal(await stand.sequenceOf(1), 1)
  t.equal(stand.turns, 7)
})

t.test('an unreadable row hides only what is older', async (t) => {
  const stand = new Stand({ count: 3_000 })
  let damaged = 1_200
  const { eventsBackward } = FakeJournal.prototype
  stand.log.eventsBackward = (before, limit, bytesMax) => {
    const page = eventsBackward.call(stand.log, before, limit, bytesMax)
    if (page.events.some(({ sequence }) => sequence === damaged)) throw new Error('damaged')
    return page
  }
  t.equal(await stand.sequenceOf(1_501), 1_501)
  await t.rejects(stand.until(stand.find(idOf(1))), /damaged/)
  await t.rejects(stand.until(Promise.all([stand.find(UNKNOWN), stand.find(idOf(1_000))])), /damaged/)
  stand.log.commit(noted(1_200))
  t.equal(await stand.sequenceOf(3_001), 3_001, 'before the damage is met again')
  damaged = 4_300
  stand.log.commit(noted(600))
  await t.rejects(stand.until(stand.find(UNKNOWN)), /damaged/)
  t.equal(await stand.sequenceOf(4_800), 4_800)
  stand.log.commit(noted(700))
  for (const sequence of [4_801, 5_500]) t.equal(await stand.sequenceOf(sequence), sequence)
  damaged = 0
  for (const sequence of [1, 1_200, 4_300, 5_500]) t.equal(await stand.sequenceOf(sequence), sequence)
})

t.test('events of other projects with the same id are skipped, a bounded number a turn', async (t) => {
  const stand = new Stand({})
  const id = idOf(1)
  stand.log.commit([...noted(1, { id, project: 'q' }), ...noted(1_700, { id }), ...noted(20)])
  const of = (project: string): Promise<EventFound> => stand.find(id, () => true, new Filter({}, new Set([project])))
  t.same(await stand.until(of('r')), { isWhole: true })
  t.equal(stand.log.eventReads, 1_701, 'each is looked at once')
  const perTurn: number[] = []
  const found = await stand.until(of('q'), () => {
    perTurn.push(stand.log.eventReads)
    stand.log.eventReads = 0
  })
  t.match(JSON.parse(found.text!), { id, project: 'q' })
  t.same([...perTurn, stand.log.eventReads], [1_701 + 500, 500, 500, 201])
})

t.test(
  'look-ups in a journal on disk work after retention, after a restart and while writes are refused',
  async (t) => {
    const home = t.testdir()
    const journal = await openIn(t, home)
    const names = Array.from({ length: 1_300 }, (_, i) => `${i + 1}`)
    for (let i = 0; i < names.length; i += 50) {
      await appendEvents(journal, ...names.slice(i, i + 50).map((name) => event(name)))
    }
    const newest = new NewestEvents(journal, new ReadTurns(journal.platform))
    const found = (name: string): Promise<EventFound> => newest.find(event(name).id, ALL, () => true)
    for (const name of ['1', '777', '1300']) t.same(await found(name), { text: event(name).text, isWhole: true })
    t.same(await found('1301'), { isWhole: true })
    await appendEvents(journal, event('1301'))
    t.same(await found('1301'), { text: event('1301').text, isWhole: true })
    await journal.settled()
    await journal.trim({ beforeSequence: 601 })
    t.same(await found('600'), { isWhole: true })
    t.same(await found('601'), { text: event('601').text, isWhole: true })
    await journal.close()

    const again = await openIn(t, home, { diskReserveBytes: 500, freeBytes: async () => 499 })
    t.equal(again.refuses(), 'read_only')
    const anew = new NewestEvents(again, new ReadTurns(again.platform))
    t.same(await anew.find(event('600').id, ALL, () => true), { isWhole: true })
    for (const name of ['601', '1000', '1301'])
      t.equal((await anew.find(event(name).id, ALL, () => true)).text, event(name).text)
  },
)
