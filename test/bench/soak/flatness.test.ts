import t from 'tap'
import { judge, type Minute } from '../../../bench/soak/flatness.ts'

const quiet: Minute = {
  minute: 0,
  cyclesPerSecond: 1_000,
  callP50Ms: 2,
  callP99Ms: 10,
  callMaxMs: 40,
  cycleP50Ms: 12,
  cycleP99Ms: 60,
  refused: 0,
  serverCpu: 0.8,
  rssBytes: 400e6,
  privateBytes: 300e6,
  heapBytes: 90e6,
  logBytes: 500e6,
  viewBytes: 300e6,
}

/** Nine minutes, each changed according to its number. */
const run = (change: (minute: number) => Partial<Minute>): Minute[] =>
  Array.from({ length: 9 }, (_, i) => ({ ...quiet, minute: i + 1, ...change(i) }))

const notFlat = (minutes: readonly Minute[]): string[] =>
  judge(minutes, 1_000)
    .filter(({ isFlat }) => !isFlat)
    .map(({ what }) => what)

t.test('a run is flat if it ends as it began, even with one slow minute', async (t) => {
  t.same(notFlat(run(() => ({}))), [])
  t.same(notFlat(run((minute) => (minute === 8 ? { callP99Ms: 400 } : {}))), [])
})

t.test('every growing measure is named', async (t) => {
  t.same(notFlat(run((minute) => ({ callP50Ms: 2 + minute }))), ['p50 of a call'])
  t.same(notFlat(run((minute) => ({ callP99Ms: 10 + 5 * minute }))), ['p99 of a call'])
  t.same(notFlat(run((minute) => ({ privateBytes: 300e6 + minute * 20e6 }))), ['private memory'])
  t.same(notFlat(run((minute) => ({ heapBytes: 90e6 + minute * 10e6 }))), ['heap after collection'])
  t.same(notFlat(run((minute) => ({ serverCpu: 0.5 + minute * 0.05 }))), ['server CPU'])
})

t.test('one minute below the requested rate makes a run not flat', async (t) => {
  t.same(notFlat(run((minute) => (minute === 4 ? { cyclesPerSecond: 900 } : {}))), [
    'cycles a second: asked, and the slowest minute',
  ])
})

t.test('files may grow until retention limits them, but not after that', async (t) => {
  t.same(notFlat(run((minute) => ({ logBytes: Math.min(minute, 3) * 100e6 }))), [])
  t.same(notFlat(run((minute) => ({ logBytes: minute * 100e6 }))), ['files, middle third against last'])
})

t.test('minutes without a collection do not count for the heap, and a run without any is not flat', async (t) => {
  const without = ({ heapBytes: _, ...minute }: Minute): Minute => minute
  const minutes = run(() => ({}))
  t.same(notFlat([without(minutes[0]!), ...minutes.slice(1)]), [])
  t.same(notFlat(minutes.map(without)), ['heap after collection'])
})
