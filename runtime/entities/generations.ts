/**
 * One key, one entity: the id derives from the key and a generation, so that repeats and races meet in one mailbox. The
 * generation goes up only when the machine says that the key is free again (`settled_twin`), and a reservation leads
 * every later create straight to the newest.
 */
import type { ActorKind, MessageBody } from '../../machines/machine.ts'
import type { Reservation } from '../../storage/journal.ts'
import type { Answer, Refused, Runtime } from '../api.ts'
import { firstGeneration, nextGeneration } from '../restored-log.ts'
import { NOTHING_TAKEN } from './traces-in-flight.ts'

export interface Keyed {
  readonly kind: ActorKind
  /** Scope of the reservations. Must never change: homes contain it. */
  readonly scope: string
  /** The id of generation 0, under which the reservations are stored. */
  readonly key: string
  /** The id of each later generation. */
  readonly idOf: (generation: number) => string
  /** Ids that a log lost with a restore may have made are not made again: somebody may hold them. */
  readonly isFenced?: true
}

interface KeyedCreate extends Keyed {
  /** The create message without its id. It must be this caller's own object: the id is set in place. */
  readonly message: object
  /** Asked before each generation's create: returns a refusal, or a function to call once that create is answered. */
  readonly before?: (id: string) => Refused | (() => void)
}

/** Generations tried in one post, should a reservation have been lost with the entity that it led to. */
const GENERATIONS_PER_POST_MAX = 16

/** Makes the entity of the key, or finds the one that has it: `reply` gets the answer and the entity's id. */
export function createOfKey(runtime: Runtime, keyed: KeyedCreate, reply: (answer: Answer, id: string) => void): void {
  const { kind, before } = keyed
  const create = keyed.message as MessageBody & { id: string; reservation: Reservation | undefined }
  let tries = 0
  const ask = (generation: number): void => {
    const id = idOfGeneration(keyed, generation)
    const done = before === undefined ? NOTHING_TAKEN : before(id)
    if (typeof done !== 'function') {
      reply(done, id)
      return
    }
    const next = generationAfter(runtime, keyed, generation)
    create.id = id
    create.reservation = reservationOf(keyed, generation).reservation
    runtime.ask({ kind, id }, create, (answer) => {
      done()
      if (answer.ok || answer.refusal.code !== 'settled_twin') reply(answer, id)
      else if (++tries < GENERATIONS_PER_POST_MAX) ask(next)
      else reply(TOO_MANY, id)
    })
  }
  ask(generationOf(runtime, keyed))
}

/** The newest generation of the key, or the one that would be made first. */
export function generationOf(runtime: Runtime, { kind, scope, key, isFenced }: Keyed): number {
  const reserved = runtime.journal.reservation(scope, key)
  if (reserved !== undefined) return Number(reserved)
  const first = isFenced === true ? firstGeneration(runtime.journal) : 0
  return first === 0 || runtime.read({ kind, id: key }) !== undefined ? 0 : first
}

/** The generation to make once this one is over. */
export function generationAfter({ journal }: Runtime, { isFenced }: Keyed, generation: number): number {
  return isFenced === true ? nextGeneration(journal, generation) : generation + 1
}

/** Leads later creates of the key to this generation; generation 0 needs no reservation. */
export function reservationOf({ scope, key }: Keyed, generation: number): { readonly reservation?: Reservation } {
  return generation === 0 ? {} : { reservation: { scope, key, value: String(generation) } }
}

export function idOfGeneration({ key, idOf }: Keyed, generation: number): string {
  return generation === 0 ? key : idOf(generation)
}

const TOO_MANY: Refused = {
  ok: false,
  refusal: { code: 'overloaded', detail: 'The key has been reused too often to look through at once.' },
}
