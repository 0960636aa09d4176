/**
 * What a second create of the same entity means. The edge scopes an Idempotency-Key by caller and path. The same key
 * with the same body is a replay, with a different body an error; once it has expired, the key is free again.
 */
import type { Message, MessageBody, Refusal } from './machine.ts'

/**
 * How long the key is kept of an entity that a machine creates by message, such as the item of a campaign's cycle: a
 * machine knows no settings, so its message names no length. Milliseconds: 24 hours.
 */
const MADE_BY_MESSAGE_MS = 86_400_000

/** Members that every create may carry. */
export interface CreateBody extends MessageBody {
  readonly type: 'create'
  /** The scoped key; absent when the caller gave none. */
  readonly idempotency_key?: string
  /** Hash of the request body; present whenever a key is. */
  readonly fingerprint?: string
  /** How long the key is kept, from the settings. Absent if a machine sends the create: 24 hours. */
  readonly idempotency_ms?: number
  /** The edge knows that this key and body created the entity, whatever has become of it since. */
  readonly is_made?: true
}

/** What the entity remembers of the create that made it. */
export interface CreationRecord {
  readonly key?: string
  readonly fingerprint?: string
  /** When the key expires, milliseconds since the epoch. */
  readonly key_until_ms?: number
}

export function creationRecord(message: Message<CreateBody>): CreationRecord {
  const { idempotency_key: key, fingerprint, idempotency_ms = MADE_BY_MESSAGE_MS, atMs } = message
  if (key === undefined) return {}
  return { key, key_until_ms: atMs + idempotency_ms, ...(fingerprint === undefined ? {} : { fingerprint }) }
}

type RepeatedCreate = 'replay' | 'reused' | 'expired' | 'taken'

/** Classifies a create that reaches an existing entity. */
export function classifyCreate(
  { key, fingerprint, key_until_ms = 0 }: CreationRecord,
  message: Pick<Message<CreateBody>, 'is_made' | 'idempotency_key' | 'fingerprint' | 'atMs'>,
): RepeatedCreate {
  if (message.is_made) return 'replay'
  if (key === undefined || message.idempotency_key !== key) return 'taken'
  if (message.atMs >= key_until_ms) return 'expired'
  return message.fingerprint === fingerprint ? 'replay' : 'reused'
}

/** `replay` if the create repeats the one that made the entity, else undefined. */
export function creationRepeat(record: CreationRecord, message: Message<CreateBody>): 'replay' | undefined {
  return classifyCreate(record, message) === 'replay' ? 'replay' : undefined
}

/** The refusal if the key was already used for another entity of this kind, or for the same one with another body. */
export function reusedKey(what: string): Refusal {
  const detail = `this idempotency key was used with another body, or for another ${what}`
  return { code: 'idempotency_key_reused', detail }
}

/** Refuses a create. `settled_twin` is for ids that derive from the key: the caller takes the key's next generation. */
export function creationRefusal(
  record: CreationRecord,
  message: Message<CreateBody>,
  { what, isIdFromKey }: { readonly what: string; readonly isIdFromKey: boolean },
): Refusal {
  const meaning = classifyCreate(record, message)
  if (meaning === 'reused') return reusedKey(what)
  if (meaning === 'expired' && isIdFromKey) {
    return { code: 'settled_twin', detail: `this idempotency key is free again: a new ${what} replaces it` }
  }
  return nameTaken(what)
}

/** Another entity of this kind has the name that the caller has chosen. */
export function nameTaken(what: string): Refusal {
  return { code: 'already_exists', detail: `this ${what} already exists: read it, or choose another name` }
}
