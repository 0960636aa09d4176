import t from 'tap'
import { ACTOR_KINDS, type ActorKind, type ActorRef } from '../../machines/machine.ts'
import { type Actor, ActorTable, type Mail } from '../../runtime/actor.ts'
import { stepsPerActorPerBatchMax } from '../../runtime/limits.ts'
import type { Stepper } from '../../runtime/stepper.ts'
import type { Journal } from '../../storage/journal.ts'

/** More characters than any test uses. */
const charsMax = 1_000

function tableOf(): ActorTable {
  const steppers = Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, {} as Stepper])) as Record<ActorKind, Stepper>
  return new ActorTable({ actor: () => undefined } as unknown as Journal, steppers)
}

t.test('actors not used since the last sweep are passivated first, whatever their kind', async (t) => {
  const table = tableOf()
  const refs = (kind: ActorKind, count: number): ActorRef[] =>
    Array.from({ length: count }, (_, i) => ({ kind, id: `${kind}-${i}` }))
  const idle = refs('work_item', 20)
  const used = refs('project', 10)
  for (const ref of idle) table.get(ref)
  const kept = used.map((ref) => table.get(ref))
  for (const actor of kept) actor.used = true
  table.passivate(20, charsMax)
  t.equal(table.size, 20)
  for (const actor of kept) t.equal(table.get(actor.ref), actor, `${actor.key} is still there`)
  for (const ref of refs('run_request', 5)) table.get(ref)
  table.passivate(20, charsMax)
  t.equal(table.size, 20)
  for (const actor of kept) t.equal(table.get(actor.ref), actor, `${actor.key} outlasts one that was never used`)
})

t.test('an actor with mail is neither passivated nor forgotten', async (t) => {
  const table = tableOf()
  const busy = table.get({ kind: 'project', id: 'busy' })
  busy.put({ body: { type: 'x' }, source: { from: 'outside', reply: () => {} } })
  table.get({ kind: 'project', id: 'idle' })
  table.passivate(0, charsMax)
  t.equal(table.size, 1)
  t.equal(table.get(busy.ref), busy)
  t.equal(table.forget(busy.ref), false)
})

t.test('loaded records are bounded in size too: large ones are passivated unless just used', async (t) => {
  const table = tableOf()
  const actors = (kind: ActorKind, chars: number): Actor[] =>
    Array.from({ length: 10 }, (_, i) => {
      const actor = table.get({ kind, id: `${kind}-${i}` })
      table.measured(actor, chars, false)
      return actor
    })
  const small = actors('project', 10)
  const large = actors('run_request', 1_000)
  const used = large[0]!
  used.used = true
  t.equal(table.chars, 10 * 10 + 10 * 1_000)
  table.bound(100, 10_000)
  t.equal(table.size, 20, 'a small excess is left alone')
  table.bound(100, 2_100)
  t.equal(table.chars, 10 * 10 + 2 * 1_000)
  for (const actor of [...small, used]) t.equal(table.get(actor.ref), actor, `${actor.key} is still there`)

  table.measured(small[0]!, 500, true)
  t.equal(small[0]!.chars, 510, 'a step adds the growth of its record')
  table.forget(used.ref)
  t.equal(table.chars, 10 * 10 + 500 + 1_000, 'a forgotten actor is no longer counted')
})

const mailOf = (n: number): Mail => ({ body: { type: `${n}` }, source: { from: 'outside', reply: () => {} } })
/** Everything in the mailbox, with what was taken and not yet released. */
const held = (actor: Actor): readonly Mail[] => (actor as unknown as { mail: readonly Mail[] }).mail

t.test('a mailbox that never empties keeps its order, and at most twice what waits', async (t) => {
  const busy = tableOf().get({ kind: 'project', id: 'busy' })
  const waiting = 300
  let put = 0
  let taken = 0
  let most = 0
  while (put < waiting) busy.put(mailOf(put++))
  for (let turn = 0; turn < 1_000; turn++) {
    for (let n = 0; n < stepsPerActorPerBatchMax; n++) busy.put(mailOf(put++))
    for (let n = 0; n < stepsPerActorPerBatchMax; n++) {
      const mail = busy.take()
      if (mail?.body.type !== `${taken++}`) t.fail(`${mail?.body.type} came as number ${taken}`)
    }
    most = Math.max(most, held(busy).length)
  }
  t.equal(busy.mailCount, waiting)
  t.ok(most <= 2 * (waiting + stepsPerActorPerBatchMax), `${most} held`)
})

t.test('a mailbox emptied within a turn is never copied', async (t) => {
  const usual = tableOf().get({ kind: 'project', id: 'usual' })
  for (let n = 0; n < stepsPerActorPerBatchMax; n++) usual.put(mailOf(n))
  const mail = held(usual)
  for (let n = 1; n < stepsPerActorPerBatchMax; n++) {
    usual.take()
    if (held(usual) !== mail) t.fail(`copied after ${n}`)
  }
  usual.take()
  t.same(held(usual), [])
})
