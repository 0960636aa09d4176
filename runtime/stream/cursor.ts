/**
 * A place in the log as clients hold it: `<epoch>.<sequence in base 36>.<incarnation>`, opaque to them. It means "after
 * this event". The epoch lets a cursor of another log be refused. The incarnation (of the start that recorded that
 * event; absent if unknown) does the same for a cursor from a past that was lost when an older copy of the home was put
 * back; otherwise it would silently continue after a different event of that number.
 */
import { isKnownBy, type LogIdentity } from '../../storage/log/log-identity.ts'

/** What a cursor is checked against: the log as it is now. */
export interface LogRange extends LogIdentity {
  readonly oldestSequence: number
  readonly lastSequence: number
}

type CursorFault = 'invalid_cursor' | 'cursor_of_another_log' | 'cursor_too_old'

export type CursorPlace =
  | { readonly ok: true; readonly sequence: number }
  | {
      readonly ok: false
      readonly code: CursorFault
      readonly detail: string
      readonly oldest?: string
      /** The cursor is of this log, but of events it has lost: an older copy of the home was put back. */
      readonly isOfLostPast?: true
    }

interface Cursor {
  readonly epoch: string
  readonly sequence: number
  readonly incarnation: string | undefined
}

// Ten digits of base 36 are 3.6e15, still a safe integer; a sequence of eleven would not be exact.
const CURSOR = /^([0-9a-z]{1,64})\.(0|[1-9a-z][0-9a-z]{0,9})(?:\.([0-9a-z]{1,64}))?$/

/** The cursor after the event with this sequence; 0 is the place before the log's very first event. */
export function encodeCursor(log: LogIdentity, sequence: number): string {
  const incarnation = log.incarnationAt(sequence)
  const place = `${log.epoch}.${sequence.toString(36)}`
  return incarnation === undefined ? place : `${place}.${incarnation}`
}

/** Parses a cursor; undefined if it is not one. */
export function decodeCursor(cursor: string): Cursor | undefined {
  const parts = CURSOR.exec(cursor)
  if (parts === null) return undefined
  return { epoch: parts[1]!, sequence: Number.parseInt(parts[2]!, 36), incarnation: parts[3] }
}

/** The earliest cursor that this log can still continue from. */
export function oldestCursor(log: LogRange): string {
  return encodeCursor(log, log.oldestSequence - 1)
}

/**
 * The place in this log that a client's cursor names.
 * @returns the sequence after which to continue, or why that is impossible: not a cursor (400), of another log (410),
 * or older than what the log still holds (410, naming the oldest cursor that works).
 */
export function placeOf(cursor: string, log: LogRange): CursorPlace {
  const decoded = decodeCursor(cursor)
  if (decoded === undefined) {
    return { ok: false, code: 'invalid_cursor', detail: 'this is not a cursor issued by this service' }
  }
  const { epoch, sequence } = decoded
  if (epoch !== log.epoch) {
    return {
      ok: false,
      code: 'cursor_of_another_log',
      detail:
        'the cursor belongs to another log (restored or newly created): start from `earliest`, or list again and watch from there',
      oldest: oldestCursor(log),
    }
  }
  // This log never gave out a place beyond its end: its files were put back to an older state.
  if (sequence > log.lastSequence || !isKnownBy(log, decoded)) {
    return {
      ok: false,
      code: 'cursor_of_another_log',
      detail:
        'the cursor belongs to events that this log does not hold: an older copy of the home was restored. Start from `earliest`, or list again and watch from there',
      oldest: oldestCursor(log),
      isOfLostPast: true,
    }
  }
  if (sequence < log.oldestSequence - 1) {
    return { ok: false, code: 'cursor_too_old', detail: tooOld(log), oldest: oldestCursor(log) }
  }
  return { ok: true, sequence }
}

/** The sentence that goes with `cursor_too_old`. */
export function tooOld(log: LogRange): string {
  return `events after this cursor have been removed from the log; the oldest usable cursor is ${oldestCursor(log)}`
}
