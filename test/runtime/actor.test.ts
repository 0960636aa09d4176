import t from 'tap'
import { ACTOR_KINDS, type ActorKind, type ActorRef } from '../../machines/machine.ts'
import { ActorTable } from '../../runtime/actor.ts'
import type { Stepper } from '../../runtime/stepper.ts'
import type { Journal } from '../../storage/journal.ts'

function tableOf(): ActorTable {
  const steppers = Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, {} as Stepper])) as Record<ActorKind, Stepper>
  return new ActorTable({ actor: () => undefined } as unknown as Journal, steppers)
}

t.test('who was not used since the last sweep leaves first, whatever its kind', async (t) => {
  const table = tableOf()
  const refs = (kind: ActorKind, count: number): ActorRef[] =>
    Array.from({ length: count }, (_, i) => ({ kind, id: `${kind}-${i}` }))
  const idle = refs('work_item', 20)
  const used = refs('project', 10)
  for (const ref of idle) table.get(ref)
  const kept = used.map((ref) => table.get(ref))
  for (const actor of kept) actor.used = true
  table.passivate(20)
  t.equal(table.size, 20)
  for (const actor of kept) t.equal(table.get(actor.ref), actor, `${actor.key} is still there`)
  for (const ref of refs('run_request', 5)) table.get(ref)
  table.passivate(20)
  t.equal(table.size, 20)
  for (const actor of kept) t.equal(table.get(actor.ref), actor, `${actor.key} stays before what was never used`)
})

t.test('who has mail stays', async (t) => {
  const table = tableOf()
  const busy = table.get({ kind: 'project', id: 'busy' })
  busy.put({ body: { type: 'x' }, source: { from: 'outside', reply: () => {} } })
  table.get({ kind: 'project', id: 'idle' })
  table.passivate(0)
  t.equal(table.size, 1)
  t.equal(table.get(busy.ref), busy)
  t.equal(table.forget(busy.ref), false)
})
