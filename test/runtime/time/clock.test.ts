import t from 'tap'
import { clockSetBackMsMax } from '../../../runtime/limits.ts'
import { Clock, clockStartMicros } from '../../../runtime/time/clock.ts'

t.test(
  'readings follow the wall clock when it is set back by more than a little, and report by how much',
  async (t) => {
    let nowMs = 10_000_000
    const setBackBy: number[] = []
    const clock = new Clock(
      () => nowMs,
      0,
      (byMs) => setBackBy.push(byMs),
    )
    t.equal(clock.nextMicros(), 10_000_000_000)
    nowMs -= clockSetBackMsMax
    t.equal(clock.nextMicros(), 10_000_000_001)
    nowMs -= 1
    t.equal(clock.nextMicros(), nowMs * 1_000)
    t.equal(clock.nextMicros(), nowMs * 1_000 + 1)
    t.same(setBackBy, [clockSetBackMsMax + 1.001])
  },
)

t.test('readings strictly increase even when the wall clock stands still or goes back', async (t) => {
  let now = 1_700_000_000_000
  const clock = new Clock(() => now)
  const readings = [clock.nextMicros(), clock.nextMicros()]
  now -= 5_000
  readings.push(clock.nextMicros())
  now += 60_000
  readings.push(clock.nextMicros())
  for (let i = 1; i < readings.length; i++) t.ok(readings[i]! > readings[i - 1]!)
  t.equal(new Set(readings.map((micros) => clock.text(micros))).size, 4)
})

t.test('a reading is written in RFC 3339 with microseconds', async (t) => {
  const clock = new Clock(() => 0)
  t.equal(clock.text(1_700_000_000_000_007), '2023-11-14T22:13:20.000007Z')
  t.equal(clock.text(1_700_000_000_999_999), '2023-11-14T22:13:20.999999Z')
  t.equal(clock.text(1_700_000_001_000_000), '2023-11-14T22:13:21.000000Z')
})

t.test(
  'a start goes on after the newest event when the clock was set back a little, and follows the clock otherwise',
  async (t) => {
    const recordedMs = Date.parse('2026-01-01T00:00:00.123Z')
    const log = { lastSequence: 1, event: () => JSON.stringify({ recorded_at: '2026-01-01T00:00:00.123456Z' }) }
    const start = (wallMs: number): number => clockStartMicros(log, wallMs)
    const clock = new Clock(() => recordedMs - 5_000, start(recordedMs - 5_000))
    t.ok(clock.nextMicros() > recordedMs * 1_000 + 456)
    t.equal(start(recordedMs - clockSetBackMsMax), (recordedMs + 1) * 1_000)
    t.equal(start(recordedMs - clockSetBackMsMax - 1), 0)
    const later = new Clock(() => recordedMs + 60_000, start(recordedMs + 60_000))
    t.equal(later.nextMicros(), (recordedMs + 60_000) * 1_000, 'the wall clock is followed')
    t.equal(clockStartMicros({ lastSequence: 0, event: () => undefined }, recordedMs), 0, 'an empty log')
    t.equal(clockStartMicros({ lastSequence: 1, event: () => 'not JSON' }, recordedMs), 0, 'a damaged event')
  },
)
