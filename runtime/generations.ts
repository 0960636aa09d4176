/**
 * One key, one entity: the id derives from the key and a generation, so that repeats and races meet in one mailbox. A
 * generation goes up only when the machine says that the key is free again (`settled_twin`), and a reservation leads
 * every later create straight to the newest.
 */
import type { ActorKind, MessageBody } from '../machines/machine.ts'
import type { Answer, Refused, Runtime } from './api.ts'
import { NOTHING_TAKEN } from './traces-in-flight.ts'

export interface KeyedCreate {
  readonly kind: ActorKind
  /** Scope of the reservations. Kept for ever: they are in the homes. */
  readonly scope: string
  readonly idOf: (generation: number) => string
  /** The create message but for its id. */
  readonly message: object
  /** Asked before each generation's create: a refusal, or what is to be called once it is answered. */
  readonly before?: (id: string) => Refused | (() => void)
}

/** Tried in one post, should a reservation have been lost with the entity that it led to. */
const GENERATIONS_PER_POST_MAX = 16

/** Makes the entity of the key, or finds the one that has it: the reply gets the answer and its id. */
export function createOfKey(runtime: Runtime, keyed: KeyedCreate, reply: (answer: Answer, id: string) => void): void {
  const { kind, scope, idOf, message, before } = keyed
  const key = idOf(0)
  const first = Number(runtime.journal.reservation(scope, key) ?? 0)
  const ask = (generation: number): void => {
    const id = generation === 0 ? key : idOf(generation)
    const done = before === undefined ? NOTHING_TAKEN : before(id)
    if (typeof done !== 'function') {
      reply(done, id)
      return
    }
    const reserved = generation === 0 ? {} : { reservation: { scope, key, value: String(generation) } }
    runtime.ask({ kind, id }, { ...message, id, ...reserved } as unknown as MessageBody, (answer) => {
      done()
      if (answer.ok || answer.refusal.code !== 'settled_twin') reply(answer, id)
      else if (generation + 1 < first + GENERATIONS_PER_POST_MAX) ask(generation + 1)
      else reply(TOO_MANY, id)
    })
  }
  ask(first)
}

/** The id of the newest generation that has been made, or would be made first. */
export function newestOf(runtime: Runtime, scope: string, idOf: (generation: number) => string): string {
  return idOf(Number(runtime.journal.reservation(scope, idOf(0)) ?? 0))
}

const TOO_MANY: Refused = {
  ok: false,
  refusal: { code: 'overloaded', detail: 'The key was free again too often to walk through at once.' },
}
