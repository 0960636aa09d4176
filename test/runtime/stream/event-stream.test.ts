/** The event stream on a clock that the test advances: who is sent what and when, and what it costs. */
import t from 'tap'
import { silentLogger } from '../../../runtime/log.ts'
import { EventStream } from '../../../runtime/stream/event-stream.ts'
import { Filter, type FilterTerms } from '../../../runtime/stream/filter.ts'
import {
  type StreamLimits,
  streamLimits,
  unreadableFaultsMax,
  unreadableQuietMs,
} from '../../../runtime/stream/limits.ts'
import { ReadTurns } from '../../../runtime/stream/read-turns.ts'
import { Unreadable } from '../../../runtime/stream/unreadable.ts'
import { CorruptRow } from '../../../storage/checked-text.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { type EventDraft, FakeLog } from './fake-log.ts'
import { FakeSink } from './fake-sink.ts'

function world({ readTurnMs, ...limits }: Partial<StreamLimits> & { readTurnMs?: number } = {}) {
  const log = new FakeLog()
  const platform = new ManualPlatform()
  const lines: object[] = []
  const logger = { ...silentLogger, error: (fields: object) => void lines.push(fields) }
  const stream = new EventStream(log, new ReadTurns(platform, readTurnMs), { ...streamLimits, ...limits }, logger)
  log.onCommit((events, commit) => stream.committed(events, commit))
  const watch = (terms: FilterTerms = {}, after = log.lastSequence, room = Number.POSITIVE_INFINITY): FakeSink => {
    const sink = new FakeSink(room)
    sink.subscription = stream.subscribe(new Filter(terms), after, sink)
    return sink
  }
  return { log, platform, stream, watch, lines }
}

const noted = (project = 'a'): EventDraft => ({ event_type: 'noted', project })
const types = (sink: FakeSink): string => sink.frames.map((frame) => frame.type).join(' ')

t.test('all commits of a turn make one frame, the same bytes for every watcher with that filter', async (t) => {
  const { log, platform, watch } = world()
  const [first, second, other] = [watch(), watch(), watch({ project: ['b'] })]
  log.commit([noted('a')])
  log.commit([noted('a'), noted('b')])
  t.equal(first.frames.length, 1, 'nothing is sent within the commit')
  platform.runOnce()
  t.same(first.frames[1]!.events!.length, 3)
  t.equal(first.raw[1], second.raw[1], 'the very same frame')
  t.same(
    other.frames[1]!.events!.map((event) => event.project),
    ['b'],
  )
})

t.test('a slow fan-out is followed by a pause in proportion, in which commits gather into one frame', async (t) => {
  const { log, platform, stream } = world()
  const sink = new FakeSink()
  const slow = new (class extends FakeSink {
    override send(...given: Parameters<FakeSink['send']>) {
      platform.nowMs += 18
      return super.send(...given)
    }
  })()
  stream.subscribe(new Filter({}), 0, sink)
  stream.subscribe(new Filter({}), 0, slow)
  log.commit([noted()])
  platform.run()
  t.equal(slow.ids.length, 1)
  log.commit([noted()])
  platform.run()
  t.equal(slow.ids.length, 1)
  platform.ring(5)
  t.equal(slow.ids.length, 1)
  log.commit([noted()])
  platform.ring(1)
  t.equal(slow.ids.length, 3)
  t.equal(slow.frames.length, 3, 'the two commits share a frame')
})

t.test('a fan-out too long for one turn continues in later ones, and every watcher gets each event once', async (t) => {
  const { log, platform, stream } = world({ fanOutMsMax: 25, readTurnMs: 2 })
  let sent = 0
  const slow = () =>
    new (class extends FakeSink {
      override send(...given: Parameters<FakeSink['send']>) {
        platform.nowMs += 1
        sent += 1
        return super.send(...given)
      }
    })()
  const sinks = Array.from({ length: 300 }, (_, n) => {
    const sink = slow()
    // Half share a filter, the others have one of their own.
    const project = n % 2 === 0 ? ['a'] : ['a', `own-${n}`]
    sink.subscription = stream.subscribe(new Filter({ project }), 0, sink)
    return sink
  })
  sent = 0
  log.commit([noted()])
  platform.runOnce()
  t.ok(sent >= 25 && sent <= 64, `${sent} in the turn of the fan-out`)
  t.ok(stream.counts().reading >= 300 - 64)
  let most = 0
  for (let turn = 0; turn < 400; turn++) {
    // A commit in the meantime comes in its place for every watcher.
    if (turn === 3) log.commit([noted(), noted('b')])
    sent = 0
    platform.runOnce()
    most = Math.max(most, sent)
  }
  t.ok(most <= 64 + 4, `${most} in a later turn`)
  platform.ring(100)
  t.same(stream.counts(), { live: 300, reading: 0, parked: 0 })
  const wanted = sinks[0]!.ids
  t.equal(wanted.length, 2)
  for (const sink of sinks) t.strictSame(sink.ids, wanted)
})

t.test(
  'unsent bytes are bounded over all watchers: the one stalled longest is ended, and can resume from its cursor',
  async (t) => {
    const { log, platform, watch, stream } = world({ unsentBytesMax: 100_000 })
    const idle = Array.from({ length: 10 }, () => watch({}, 0, 2))
    const reader = watch()
    const large = { ...noted(), payload: { text: 'x'.repeat(30_000) } }
    log.commit([large])
    platform.run()
    t.equal(stream.counts().parked, 3, 'as many as there is room for')
    t.equal(idle.filter(({ ended }) => ended?.code === 'stalled').length, 7)
    t.equal(reader.ended, undefined)
    const left = idle.filter(({ ended }) => ended === undefined)
    left[0]!.drain(5)
    left[1]!.subscription!.close()
    log.commit([large])
    platform.run()
    t.equal(stream.counts().parked, 1)
    t.equal(left[0]!.ids.length, 2)
    t.equal(reader.ids.length, 2, 'other watchers are still sent events')
  },
)

t.test('a watcher without matching events gets a bookmark at least every 10 s, at the end of the log', async (t) => {
  const { log, platform, watch } = world()
  const sink = watch({ project: ['b'] })
  for (let second = 0; second < 60; second++) {
    log.commit([noted('a')])
    platform.ring(1_000)
  }
  const bookmarks = sink.frames.filter((frame) => frame.type === 'bookmark')
  t.ok(bookmarks.length >= 6, `${bookmarks.length} in a minute`)
  t.equal(types(sink), `hello${' bookmark'.repeat(bookmarks.length)}`)
  const idle = watch()
  platform.ring(10_000)
  t.equal(types(idle), 'hello bookmark', 'also when nothing is committed')
})

t.test('a replay whose last events did not match ends with a bookmark at once', async (t) => {
  const { log, platform, watch } = world()
  log.commit([noted('b'), noted('a'), noted('a')])
  const sink = watch({ project: ['b'] }, 0)
  platform.run()
  t.equal(types(sink), 'hello events bookmark')
  t.equal(sink.frames[1]!.cursor, 'e0e0e0e0e0e0.1.i0i0i0')
  t.equal(sink.frames[2]!.cursor, 'e0e0e0e0e0e0.3.i0i0i0')
})

t.test('a long replay without a match sends bookmarks', async (t) => {
  const { log, platform, watch } = world({ frameEventsMax: 10, readTurnMs: 0, tailEventsMax: 1 })
  log.commit(Array.from({ length: 1_000 }, () => noted('a')))
  const sink = watch({ project: ['b'] }, 0)
  for (let n = 0; n < 50; n++) {
    platform.nowMs += 500
    platform.runOnce()
  }
  t.ok(sink.frames.length >= 10, types(sink))
  t.notOk(types(sink).includes('events'))
})

t.test('replays take turns with each other and with other work', async (t) => {
  const { log, platform, watch } = world({ frameEventsMax: 10, readTurnMs: 0, tailEventsMax: 1, pagesMax: 1 })
  log.commit(Array.from({ length: 100 }, () => noted()))
  const [first, second] = [watch({}, 0), watch({}, 0)]
  let others = 0
  const other = (): void => {
    others += 1
    if (others < 20) platform.nextTurn(other)
  }
  platform.nextTurn(other)
  for (let n = 0; n < 8; n++) platform.runOnce()
  t.equal(others, 8)
  t.equal(first.ids.length, 40, 'one page a turn, alternating')
  t.equal(second.ids.length, 40)
})

t.test('watchers that replay from the same place share reads and frames', async (t) => {
  const { log, platform, watch } = world({ tailEventsMax: 1, frameEventsMax: 100 })
  log.commit(Array.from({ length: 1_000 }, () => noted()))
  const sinks = Array.from({ length: 50 }, () => watch({}, 0))
  platform.run()
  for (const sink of sinks) t.equal(sink.ids.length, 1_000)
  t.ok(log.reads <= 10, `${log.reads} reads`)
  t.equal(sinks[0]!.raw[5], sinks[49]!.raw[5], 'the very same frame')
})

t.test('a watcher catches up from memory after brief backpressure, without reading the log', async (t) => {
  const { log, platform, watch } = world()
  const sink = watch({}, 0, 2)
  log.commit([noted()])
  platform.run()
  t.ok(sink.isFull)
  for (let n = 0; n < 100; n++) {
    log.commit([noted()])
    platform.ring(1)
  }
  sink.drain(Number.POSITIVE_INFINITY)
  platform.run()
  t.equal(sink.ids.length, 101)
  t.equal(types(sink), 'hello events events', 'all in one frame')
  t.equal(log.reads, 0)
})

t.test('a parked watcher that retention overtakes is ended with the oldest valid cursor', async (t) => {
  const { log, platform, watch } = world({ tailEventsMax: 1 })
  const sink = watch({}, 0, 1)
  log.commit(Array.from({ length: 100 }, () => noted()))
  platform.run()
  log.trim(50)
  sink.drain(10)
  platform.run()
  t.match(sink.ended, { code: 'cursor_too_old', oldest: 'e0e0e0e0e0e0.1e.i0i0i0' })
  t.same(sink.ids, [])
})

t.test('a connection that takes nothing for a minute is closed, and one that progresses is not', async (t) => {
  const { log, platform, watch, stream } = world()
  const [stuck, moving] = [watch({}, 0, 2), watch({}, 0, 2)]
  log.commit([noted()])
  platform.run()
  t.same(stream.counts(), { live: 0, reading: 0, parked: 2 })
  for (let second = 0; second < 65; second++) {
    platform.ring(1_000)
    moving.subscription!.progressed()
  }
  t.same(stuck.ended, { code: 'stalled' })
  t.equal(moving.ended, undefined)
  t.same(stream.counts(), { live: 0, reading: 0, parked: 1 })
})

t.test('a watcher whose connection is gone when it is sent something is forgotten, with what it was sent', (t) => {
  const { log, platform, watch, stream } = world({ unsentBytesMax: 100_000 })
  const vanished = Array.from({ length: 10 }, () => watch())
  for (const sink of vanished) sink.isGone = true
  const full = watch({}, 0, 2)
  log.commit([{ ...noted(), payload: { text: 'x'.repeat(30_000) } }])
  platform.run()
  t.same(stream.counts(), { live: 0, reading: 0, parked: 1 })
  t.same(
    [full, ...vanished].filter(({ ended }) => ended !== undefined),
    [],
    'nobody is ended to make room for them',
  )
  t.end()
})

t.test('a watcher that starts at a commit not yet sent gets only what comes after it', async (t) => {
  const { log, platform, watch } = world()
  const early = watch()
  log.commit([noted(), noted()])
  const late = watch({}, 2)
  log.commit([noted()])
  platform.run()
  t.equal(early.ids.length, 3)
  t.equal(late.ids.length, 1)
})

t.test('a burst larger than the tail in memory is read from the log', async (t) => {
  const { log, platform, watch } = world({ tailEventsMax: 10, frameEventsMax: 7 })
  const sink = watch()
  log.commit(Array.from({ length: 50 }, () => noted()))
  log.commit([noted()])
  platform.run()
  t.equal(sink.ids.length, 51)
})

t.test('an event larger than a frame gets a frame of its own', async (t) => {
  const { log, platform, watch } = world({ frameCharsMax: 1_000 })
  const big: EventDraft = { event_type: 'noted', project: 'a', payload: { text: 'x'.repeat(5_000) } }
  const live = watch()
  log.commit([noted(), big, noted()])
  platform.run()
  t.equal(types(live), 'hello events events events')
  const replay = watch({}, 0)
  platform.run()
  t.equal(replay.ids.length, 3)
})

t.test('close sends what is committed, ends every watcher, and leaves no timer', async (t) => {
  const { log, platform, stream, watch } = world()
  const [open, full] = [watch(), watch({}, 0, 1)]
  log.commit([noted()])
  stream.close()
  t.equal(open.ids.length, 1)
  t.same(open.ended, { code: 'stopping' })
  t.same(full.ended, { code: 'stopping' })
  t.equal(platform.timersSet, 0)
  t.same(watch().ended, { code: 'stopping' })
  platform.run()
  t.equal(platform.timersSet, 0)
})

t.test('without watchers there is no timer and no work', async (t) => {
  const { log, platform, watch } = world()
  log.commit([noted()])
  t.notOk(platform.runOnce())
  t.equal(platform.timersSet, 0)
  const sink = watch()
  sink.subscription!.close()
  sink.subscription!.close()
  platform.ring(5_000)
  t.equal(platform.timersSet, 0)
})

t.test('a commit evaluates only the filters that its events may match', async (t) => {
  const { log, platform, watch } = world()
  const sinks = Array.from({ length: 1_000 }, (_, n) => watch({ trace_id: [`t${n}`] }))
  let evaluated = 0
  const { matches } = Filter.prototype
  t.teardown(() => {
    Filter.prototype.matches = matches
  })
  Filter.prototype.matches = function (event) {
    evaluated += 1
    return matches.call(this, event)
  }
  log.commit([{ event_type: 'noted', project: 'a', trace_id: 't500' }])
  platform.run()
  t.equal(evaluated, 1)
  t.equal(sinks[500]!.ids.length, 1)
  t.equal(
    sinks.reduce((sum, sink) => sum + sink.frames.length, 0),
    1_001,
  )
})

const UNREADABLE = [
  [new CorruptRow('event 2 does not match its checksum'), 'quarantined'],
  [Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' }), 'quarantined'],
  [Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE', syscall: 'open' }), 'overloaded'],
] as const
for (const [error, code] of UNREADABLE)
  t.test(`an unreadable event (${error.message}) ends only the streams that need it, and tells them why`, async (t) => {
    const { log, platform, watch } = world({ tailEventsMax: 1, frameEventsMax: 1 })
    log.commit([noted(), noted(), noted()])
    platform.run()
    const events = log.events.bind(log)
    log.events = (after, limit, bytesMax) => {
      if (after === 1) throw error
      return events(after, limit, bytesMax)
    }
    const [damaged, behind] = [watch({}, 0), watch({}, 2)]
    platform.run()
    t.same(damaged.ended, { code, detail: error.message })
    t.equal(types(damaged), 'hello events')
    t.equal(types(behind), 'hello events')
    t.equal(behind.ended, undefined)
  })

t.test('an unreadable event is logged once, however many watchers meet it, and again after a quiet time', async (t) => {
  const { log, platform, watch, lines } = world({ tailEventsMax: 1, frameEventsMax: 1 })
  log.commit([noted(), noted(), noted()])
  platform.run()
  const other = new CorruptRow('event 3 does not match its checksum')
  const events = log.events.bind(log)
  let fault: Error = UNREADABLE[1][0]
  log.events = (after, limit, bytesMax) => {
    if (after === 1) throw fault
    return events(after, limit, bytesMax)
  }
  const come = () => {
    const sink = watch({}, 0)
    platform.run()
    t.match(sink.ended, { code: 'quarantined' })
  }
  for (let hour = 0; hour < 60; hour += 1) {
    come()
    platform.ring(unreadableQuietMs - 1)
  }
  t.same(lines, [{ err: fault, after: 1 }])
  fault = other
  come()
  come()
  t.same(lines.slice(1), [{ err: other, after: 1 }])
  platform.ring(unreadableQuietMs)
  come()
  t.same(lines.slice(2), [{ err: other, after: 1 }], 'after a quiet time')
})

t.test('the memory of logged faults is bounded, and forgets the one met longest ago', async (t) => {
  const lines: Error[] = []
  const platform = new ManualPlatform()
  const unreadable = new Unreadable(platform, { ...silentLogger, error: ({ err }: any) => void lines.push(err) })
  const faults = Array.from({ length: unreadableFaultsMax + 1 }, (_, n) => new CorruptRow(`event ${n}`))
  for (const fault of faults) unreadable.tell(fault, 0)
  for (const fault of faults.slice(1)) unreadable.tell(fault, 0)
  t.same(lines, faults)
  unreadable.tell(faults[0]!, 0)
  t.equal(lines.length, faults.length + 1, 'the fault met longest ago was forgotten')
})
