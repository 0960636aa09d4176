import fc from 'fast-check'
import t from 'tap'
import { Later, TimerWheel, wheelTickMs } from '../../../runtime/dispatch/wheel.ts'
import { TurnedNature } from '../../natures/turned.ts'

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
        const nature = new TurnedNature()
        const wheel = new TimerWheel(nature, rethrow)
        const startMs = nature.nowMs
        const fired = entries.map(() => [] as number[])
        const made = entries.map((_, index) => new Later(() => fired[index]!.push(nature.nowMs)))
        const removals = entries.map(() => Number.POSITIVE_INFINITY)
        for (const [index, { afterMs, removeMs }] of entries.entries()) {
          wheel.add(made[index]!, startMs + afterMs)
          if (removeMs === null) continue
          nature.setTimer(() => {
            removals[index] = nature.nowMs
            wheel.remove(made[index]!)
          }, removeMs)
        }
        for (const ms of [...steps, 500_000]) nature.advance(ms)
        for (const [index, { afterMs }] of entries.entries()) {
          const dueMs = startMs + afterMs
          const times = fired[index]!
          if (times.length === 0 && removals[index]! < dueMs + 2 * wheelTickMs) continue
          if (times.length !== 1) throw new Error(`fired ${times.length} times`)
          if (times[0]! < dueMs || times[0]! > dueMs + 2 * wheelTickMs)
            throw new Error(`due ${dueMs}, fired ${times[0]}`)
        }
        if (wheel.size > 0 || nature.timersSet > 0) throw new Error('something is left')
      },
    ),
  )
})

t.test('an entry may be added again, and others removed, while it fires', async (t) => {
  const nature = new TurnedNature()
  const wheel = new TimerWheel(nature, rethrow)
  let rings = 0
  const other = new Later(() => t.fail('it was removed'))
  const again: Later = new Later(() => {
    wheel.remove(other)
    if (++rings < 3) wheel.add(again, nature.nowMs + 100)
  })
  wheel.add(again, nature.nowMs + 100)
  wheel.add(other, nature.nowMs + 100)
  nature.advance(1_000)
  t.equal(rings, 3)
  t.equal(wheel.size, 0)
})

t.test('an entry that is added again moves, and fires once', async (t) => {
  const nature = new TurnedNature()
  const wheel = new TimerWheel(nature, rethrow)
  const fired: string[] = []
  const [moved, before, behind] = ['moved', 'before', 'behind'].map((name) => new Later(() => fired.push(name)))
  wheel.add(moved!, nature.nowMs + 100)
  wheel.add(before!, nature.nowMs + 100)
  wheel.add(moved!, nature.nowMs + 300)
  wheel.add(behind!, nature.nowMs + 300)
  // A corrupted list would be walked for ever.
  if (!t.equal(wheel.size, 3)) return
  nature.advance(200)
  t.same(fired, ['before'])
  nature.advance(200)
  t.same(fired, ['before', 'moved', 'behind'])
  wheel.add(moved!, nature.nowMs + 300)
  wheel.add(moved!, nature.nowMs + 100)
  nature.advance(200)
  t.equal(fired.length, 4, 'to an earlier time, too')
  t.same([wheel.size, nature.timersSet], [0, 0])
})

t.test('one timer serves ten thousand entries, and an idle wheel has none', async (t) => {
  const nature = new TurnedNature()
  const wheel = new TimerWheel(nature, rethrow)
  const entries = Array.from({ length: 10_000 }, () => new Later(() => {}))
  for (const [index, entry] of entries.entries()) wheel.add(entry, nature.nowMs + 1_000 + index)
  t.equal(nature.timersSet, 1)
  for (const entry of entries) wheel.remove(entry)
  t.equal(nature.timersSet, 0)
})

t.test('a closed wheel drops its entries and ignores new ones', async (t) => {
  const nature = new TurnedNature()
  const wheel = new TimerWheel(nature, rethrow)
  wheel.add(new Later(() => t.fail('closed')), nature.nowMs + 10)
  wheel.close()
  wheel.add(new Later(() => t.fail('closed')), nature.nowMs + 10)
  nature.advance(10_000)
  t.equal(nature.timersSet, 0)
})
