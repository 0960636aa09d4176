/**
 * What a second create of the same entity means. An Idempotency-Key is scoped by the edge (who asks, and the
 * path); the same key with the same body is a replay, with another body a mistake, and after its time it is free.
 */
import type { Message, MessageBody, Refusal } from './machine.ts'

/**
 * How long the key is kept of what a machine makes by message, such as the item of a campaign's cycle: a machine knows no
 * settings, and says nothing of it. Milliseconds: 24 hours.
 */
const MADE_BY_MESSAGE_MS = 86_400_000

/** Members that every create may carry. */
export interface CreateBody extends MessageBody {
  readonly type: 'create'
  /** The scoped key; absent when the caller gave none. */
  readonly idempotency_key?: string
  /** Hash of the request body; given with every key. */
  readonly fingerprint?: string
  /** How long the key is kept, by the settings. Absent where a machine makes it: 24 hours. */
  readonly idempotency_ms?: number
  /** The edge knows that this key and body have made it, whatever has become of it since. */
  readonly is_made?: true
}

/** What the entity remembers of the create that made it. */
export interface CreationRecord {
  readonly key?: string
  readonly fingerprint?: string
  /** Until then the key is kept, milliseconds since the epoch. */
  readonly key_until_ms?: number
}

export function creationRecord(message: Message<CreateBody>): CreationRecord {
  const { idempotency_key: key, fingerprint, idempotency_ms = MADE_BY_MESSAGE_MS, atMs } = message
  if (key === undefined) return {}
  return { key, key_until_ms: atMs + idempotency_ms, ...(fingerprint === undefined ? {} : { fingerprint }) }
}

type SecondCreate = 'replay' | 'reused' | 'expired' | 'taken'

/** What a create means to the entity that is there. */
export function secondCreate(
  { key, fingerprint, key_until_ms = 0 }: CreationRecord,
  message: Pick<Message<CreateBody>, 'is_made' | 'idempotency_key' | 'fingerprint' | 'atMs'>,
): SecondCreate {
  if (message.is_made) return 'replay'
  if (key === undefined || message.idempotency_key !== key) return 'taken'
  if (message.atMs >= key_until_ms) return 'expired'
  return message.fingerprint === fingerprint ? 'replay' : 'reused'
}

/** The word for a create that was made before, or undefined. */
export function creationRepeat(record: CreationRecord, message: Message<CreateBody>): 'replay' | undefined {
  return secondCreate(record, message) === 'replay' ? 'replay' : undefined
}

/** The key stands for something else of this kind. */
export function reusedKey(what: string): Refusal {
  return { code: 'idempotency_key_reused', detail: `this idempotency key was used for another ${what}` }
}

/** `settled_twin` for an id that derives from the key: the caller takes the key's next generation. */
export function creationRefusal(
  record: CreationRecord,
  message: Message<CreateBody>,
  { what, isIdFromKey }: { readonly what: string; readonly isIdFromKey: boolean },
): Refusal {
  const meaning = secondCreate(record, message)
  if (meaning === 'reused') return reusedKey(what)
  if (meaning === 'expired' && isIdFromKey) {
    return { code: 'settled_twin', detail: `this idempotency key is free again: a new ${what} takes its place` }
  }
  return { code: 'already_exists', detail: `this ${what} exists already` }
}
