/** Removals from the view that no step makes. Each runs between two folds, and one that a kill cut off is repeated. */

import { CorruptRow } from '../checked-text.ts'
import type { Reservation, ReservationSweep, SweptReservations } from '../journal.ts'
import type { Batch } from '../log/redo.ts'
import type { Applier } from './applier.ts'
import type { View } from './view.ts'

/** The newest value of a reservation, applied or not. */
type Read = (scope: string, key: string) => string | undefined

/**
 * Decides what is over and queues its removal in one turn, ahead of everything appended later: a reservation that is
 * given again is either seen here or written after the removal.
 */
export async function sweepReservations(
  view: View,
  applier: Applier,
  { scope, after, limit, isOver }: ReservationSweep,
  read: Read,
): Promise<SweptReservations> {
  const keys = view.reservedKeys(scope, after, limit)
  const over: Reservation[] = []
  for (const key of keys) {
    const value = readable(read, scope, key)
    if (value !== undefined && isOver(value)) over.push({ scope, key, value })
  }
  const removed = over.length === 0 ? 0 : await applier.exclusive(() => view.removeReservations(over))
  return { looked: keys.length, removed, last: keys.length < limit ? undefined : keys.at(-1) }
}

/** A damaged reservation is skipped here, so that it does not block the others; its reader reports it. */
function readable(read: Read, scope: string, key: string): string | undefined {
  try {
    return read(scope, key)
  } catch (error) {
    if (error instanceof CorruptRow) return undefined
    throw error
  }
}

/**
 * Finishes removals that an earlier process began. An entity starts a new life in this batch while the view still
 * holds its old one; without the removal the old rows would stay beside the new ones forever.
 */
export async function finishRemovals(view: View, applier: Applier, { steps }: Batch): Promise<void> {
  const reborn = steps.filter(({ kind, id, version }) => version === 1 && view.record(kind, id) !== undefined)
  if (reborn.length > 0) await applier.exclusive(() => view.removeEntities(view.withTerms(reborn)))
}
