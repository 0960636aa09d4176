import t from 'tap'
import { clockBelievedAfterMs } from '../../../runtime/limits.ts'
import { BelievedClock } from '../../../runtime/time/believed-clock.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2026, 0, 1)

/** Both clocks are set by hand; `recorded`: when the events were recorded, oldest first. */
function world({ ageMs = 30 * DAY_MS, recorded = [START_MS] }: { ageMs?: number; recorded?: number[] } = {}) {
  const clocks = { wallMs: START_MS, monotonicMs: 5_000 }
  const warned: object[] = []
  const platform = { wallMs: () => clocks.wallMs, monotonicMs: () => clocks.monotonicMs }
  const oldestSequence = 7
  const journal = {
    oldestSequence,
    lastSequence: oldestSequence + recorded.length - 1,
    event: (sequence: number) => JSON.stringify({ recorded_at: new Date(recorded[sequence - oldestSequence]!) }),
  }
  const log = { warn: (fields: object) => void warned.push(fields) }
  const clock = new BelievedClock({ platform, journal, log: log as never }, ageMs)
  const pass = (ms: number) => {
    clocks.wallMs += ms
    clocks.monotonicMs += ms
  }
  return { clocks, clock, pass, warned }
}

t.test('a clock that runs normally, is set forward a little or set back is believed', async (t) => {
  const { clocks, clock, pass, warned } = world()
  for (const set of [0, HOUR_MS, -2 * DAY_MS, HOUR_MS]) {
    pass(DAY_MS)
    clocks.wallMs += set
    t.equal(clock.nowMs(), clocks.wallMs)
  }
  t.same(warned, [])
})

t.test(
  'a clock that leaps far ahead is not believed until it has stood for a while, and setting it right undoes that',
  async (t) => {
    const { clocks, clock, pass, warned } = world()
    clocks.wallMs += 365 * DAY_MS
    pass(10_000)
    t.equal(clock.nowMs(), START_MS + 10_000, 'time goes on as before')
    pass(10_000)
    t.equal(clock.nowMs(), START_MS + 20_000)
    t.match(warned, [{ expected: '2026-01-01T00:00:10.000Z', clock: '2027-01-01T00:00:10.000Z' }])
    clocks.wallMs -= 365 * DAY_MS
    t.equal(clock.nowMs(), clocks.wallMs)
    clocks.wallMs += 2 * HOUR_MS
    t.equal(clock.nowMs(), clocks.wallMs - 2 * HOUR_MS)
    pass(clockBelievedAfterMs - 1)
    t.equal(clock.nowMs(), clocks.wallMs - 2 * HOUR_MS)
    pass(1)
    t.equal(clock.nowMs(), clocks.wallMs)
    pass(1)
    t.equal(clock.nowMs(), clocks.wallMs)
    t.equal(warned.length, 2, 'one warning each time')
  },
)

t.test('the shorter the age limit, the smaller the leap that is not believed', async (t) => {
  const { clocks, clock, pass } = world({ ageMs: 10 * HOUR_MS })
  clocks.wallMs += HOUR_MS
  t.equal(clock.nowMs(), clocks.wallMs)
  clocks.wallMs += HOUR_MS + 1
  t.equal(clock.nowMs(), clocks.wallMs - HOUR_MS - 1)
  const short = world({ ageMs: 1 })
  short.clocks.wallMs += 9_000
  pass(1)
  t.equal(short.clock.nowMs(), short.clocks.wallMs, 'small differences are always accepted')
})

t.test('at start the clock is checked against the newest event', async (t) => {
  const late = world({ recorded: [START_MS - DAY_MS - 1] })
  late.pass(1_000)
  t.equal(late.clock.nowMs(), START_MS - DAY_MS - 1 + 1_000)
  t.equal(late.warned.length, 1)
  const weekend = world({ recorded: [START_MS - DAY_MS] })
  t.equal(weekend.clock.nowMs(), START_MS)
  const future = world({ recorded: [START_MS + DAY_MS] })
  t.equal(future.clock.nowMs(), START_MS)
})

t.test(
  'events recorded behind a leap do not vouch for the clock at the next start unless there are many',
  async (t) => {
    const times = (fromMs: number, count: number) => Array.from({ length: count }, (_, i) => fromMs + i * 60_000)
    const since = (ms: number) => START_MS - ms
    for (const [before, behind, expected] of [
      [300, 5, since(100 * DAY_MS) + 299 * 60_000],
      [1, 300, since(100 * DAY_MS)],
      [300, 361, START_MS],
      [0, 5, START_MS],
      [0, 0, START_MS],
    ] as const) {
      const ends = since(behind * 60_000)
      const { clock, warned } = world({ recorded: [...times(since(100 * DAY_MS), before), ...times(ends, behind)] })
      t.equal(clock.nowMs(), expected, `${before} events, and ${behind} behind a leap`)
      t.equal(warned.length, expected === START_MS ? 0 : 1)
    }
    const setRight = world({ recorded: [...times(START_MS - 300_000, 4), ...times(START_MS + 300 * DAY_MS, 7)] })
    t.equal(setRight.clock.nowMs(), START_MS)
    t.same(setRight.warned, [])
  },
)
