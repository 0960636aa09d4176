import fc from 'fast-check'
import t from 'tap'
import { Later, TimerWheel, wheelTickMs } from '../../../runtime/dispatch/wheel.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

function rethrow(_: unknown, error: unknown): void {
  throw error
}

t.test('every entry fires once, never early and at most two ticks late, and removed entries never fire', async () => {
  const entry = fc.record({
    afterMs: fc.integer({ min: 0, max: 400_000 }),
    removeMs: fc.option(fc.integer({ min: 0, max: 400_000 })),
  })
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 90_000 }), { maxLength: 8 }),
      (entries, steps) => {
        const platform = new ManualPlatform()
        const wheel = new TimerWheel(platform, rethrow)
        const startMs = platform.nowMs
        const fired = entries.map(() => [] as number[])
        const made = entries.map((_, index) => new Later(() => fired[index]!.push(platform.nowMs)))
        const removals = entries.map(() => Number.POSITIVE_INFINITY)
        for (const [index, { afterMs, removeMs }] of entries.entries()) {
          wheel.add(made[index]!, startMs + afterMs)
          if (removeMs === null) continue
          platform.setTimer(() => {
            removals[index] = platform.nowMs
            wheel.remove(made[index]!)
          }, removeMs)
        }
        for (const ms of [...steps, 500_000]) platform.advance(ms)
        for (const [index, { afterMs }] of entries.entries()) {
          const dueMs = startMs + afterMs
          const times = fired[index]!
          if (times.length === 0 && removals[index]! < dueMs + 2 * wheelTickMs) continue
          if (times.length !== 1) throw new Error(`fired ${times.length} times`)
          if (times[0]! < dueMs || times[0]! > dueMs + 2 * wheelTickMs)
            throw new Error(`due ${dueMs}, fired ${times[0]}`)
        }
        if (wheel.size > 0 || platform.timersSet > 0) throw new Error('something is left')
      },
    ),
  )
})

t.test('an entry may be added again, and others removed, while it fires', async (t) => {
  const platform = new ManualPlatform()
  const wheel = new TimerWheel(platform, rethrow)
  let rings = 0
  const other = new Later(() => t.fail('it was removed'))
  const again: Later = new Later(() => {
    wheel.remove(other)
    if (++rings < 3) wheel.add(again, platform.nowMs + 100)
  })
  wheel.add(again, platform.nowMs + 100)
  wheel.add(other, platform.nowMs + 100)
  platform.advance(1_000)
  t.equal(rings, 3)
  t.equal(wheel.size, 0)
})

t.test('an entry that is added again moves, and fires once', async (t) => {
  const platform = new ManualPlatform()
  const wheel = new TimerWheel(platform, rethrow)
  const fired: string[] = []
  const [moved, before, behind] = ['moved', 'before', 'behind'].map((name) => new Later(() => fired.push(name)))
  wheel.add(moved!, platform.nowMs + 100)
  wheel.add(before!, platform.nowMs + 100)
  wheel.add(moved!, platform.nowMs + 300)
  wheel.add(behind!, platform.nowMs + 300)
  // A corrupted list would be walked for ever.
  if (!t.equal(wheel.size, 3)) return
  platform.advance(200)
  t.same(fired, ['before'])
  platform.advance(200)
  t.same(fired, ['before', 'moved', 'behind'])
  wheel.add(moved!, platform.nowMs + 300)
  wheel.add(moved!, platform.nowMs + 100)
  platform.advance(200)
  t.equal(fired.length, 4, 'to an earlier time, too')
  t.same([wheel.size, platform.timersSet], [0, 0])
})

t.test('one timer serves ten thousand entries, and an idle wheel has none', async (t) => {
  const platform = new ManualPlatform()
  const wheel = new TimerWheel(platform, rethrow)
  const entries = Array.from({ length: 10_000 }, () => new Later(() => {}))
  for (const [index, entry] of entries.entries()) wheel.add(entry, platform.nowMs + 1_000 + index)
  t.equal(platform.timersSet, 1)
  for (const entry of entries) wheel.remove(entry)
  t.equal(platform.timersSet, 0)
})

t.test('the process is woken only for ticks at which something is due', async (t) => {
  const platform = new ManualPlatform()
  const wheel = new TimerWheel(platform, rethrow)
  let woken = 0
  const setTimer = platform.setTimer.bind(platform)
  platform.setTimer = (callback, afterMs) =>
    setTimer(() => {
      woken++
      callback()
    }, afterMs)
  let fired = 0
  for (const afterMs of [100, 60_000, 59_980, 90_000]) wheel.add(new Later(() => fired++), platform.nowMs + afterMs)
  platform.advance(100_000)
  t.same([fired, woken], [4, 3])
})

t.test('a closed wheel drops its entries and ignores new ones', async (t) => {
  const platform = new ManualPlatform()
  const wheel = new TimerWheel(platform, rethrow)
  wheel.add(new Later(() => t.fail('closed')), platform.nowMs + 10)
  wheel.close()
  wheel.add(new Later(() => t.fail('closed')), platform.nowMs + 10)
  platform.advance(10_000)
  t.equal(platform.timersSet, 0)
})
