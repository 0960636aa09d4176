import t from 'tap'
import type { Actor } from '../../runtime/actor.ts'
import type { BatchedStep } from '../../runtime/batch.ts'
import { Due } from '../../runtime/due.ts'
import { timersPerReadMax, timersStuckMs } from '../../runtime/limits.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { TurnedNature } from './turned-nature.ts'

t.test('thousands that fall due in one millisecond follow one another as they are used up', async (t) => {
  const nature = new TurnedNature()
  const dueMs = nature.wallMs() + 50
  const row = (n: number) => ({ kind: 'work_item', id: `wi_${n}`, name: 'n', dueMs, generation: 1, message: {} })
  const rows = new Map(Array.from({ length: 6 * timersPerReadMax }, (_, n) => [`wi_${n}`, row(n)]))
  const journal = {
    timers: (_from: number, _to: number, limit: number) => [...rows.values()].slice(0, limit),
    refuses: () => undefined,
  }
  /** Its step is committed a turn later. */
  const deliver = (ref: { readonly id: string }): void =>
    nature.nextTurn(() => {
      const { name, generation } = rows.get(ref.id)!
      rows.delete(ref.id)
      const actor = { ref, stepper: { module: { deadlineStates: [] } } }
      const step = { before: { timers: { [name]: { dueMs, generation } } }, after: { timers: {} }, timersSet: [] }
      due.committed(actor as unknown as Actor, step as unknown as BatchedStep, nature.monotonicMs())
      due.wait()
    })
  const settings = { ...defaultSettings, home: '/nowhere' }
  const due = new Due({ nature, journal: journal as never, settings, deliver })
  due.wait()
  nature.advance(49)
  t.equal(rows.size, 6 * timersPerReadMax)
  nature.advance(timersStuckMs / 2)
  t.equal(rows.size, 0)
})
