/** What the indexes hold of an event, read back from its text: for retention and for `verify`. */
import { idOfText, lastValue } from '../../machines/events/event-text.ts'

export interface EventIdentity {
  readonly id: string
  readonly project: string
  readonly traceId: string | null
  /** Milliseconds since the epoch. */
  readonly recordedMs: number
  /** The work item in whose history the event is listed. */
  readonly itemId: string | undefined
  /** Work items whose history may have a row for the event. */
  readonly itemIds: readonly string[]
}

/** Where payloads name a work item (SPEC 6.7 to 6.9, 6.18). */
const ITEM_FIELDS = ['item_id', 'work_item_id'] as const

/** Throws SyntaxError when the text is not JSON. */
export function identityOf(text: string): EventIdentity {
  const event = JSON.parse(text) as {
    id: string
    project: string
    trace_id: string | null
    recorded_at: string
    payload?: Record<string, unknown>
  }
  const itemIds: string[] = []
  for (const field of ITEM_FIELDS) {
    const value = event.payload?.[field]
    if (typeof value === 'string') itemIds.push(value)
  }
  const { id, project, trace_id: traceId, recorded_at: recordedAt } = event
  const itemId = event.payload?.item_id
  return {
    id,
    project,
    traceId: traceId ?? null,
    recordedMs: Date.parse(recordedAt),
    itemId: typeof itemId === 'string' ? itemId : undefined,
    itemIds,
  }
}

const NO_ITEMS: readonly string[] = []

/**
 * Like `identityOf`, for a text that is known to be an event; five times as fast for most, since the fields of the
 * envelope are cut out of the text. Hot when the log is trimmed.
 */
export function identityOfEvent(text: string): EventIdentity {
  if (text.includes('item_id":')) return identityOf(text)
  const project = lastValue(text, ',"project":')
  const traceId = lastValue(text, ',"trace_id":')
  const recordedAt = lastValue(text, ',"recorded_at":')
  if (typeof project !== 'string' || typeof recordedAt !== 'string' || traceId === undefined) return identityOf(text)
  return {
    id: idOfText(text),
    project,
    traceId,
    recordedMs: Date.parse(recordedAt),
    itemId: undefined,
    itemIds: NO_ITEMS,
  }
}

/** Undefined if the text is not an event. */
export function identityIfAny(text: string): EventIdentity | undefined {
  try {
    return identityOf(text)
  } catch {
    return undefined
  }
}

/** The histories in which the event is listed. */
export function historiesOf({ traceId, itemId }: EventIdentity): readonly (readonly ['trace' | 'item', string])[] {
  const histories: (readonly ['trace' | 'item', string])[] = []
  if (traceId !== null) histories.push(['trace', traceId])
  if (itemId !== undefined) histories.push(['item', itemId])
  return histories
}
