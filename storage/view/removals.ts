/** What leaves the view by no step: each removal stands in line between two folds, and one that a kill cut off is done again. */

import { CorruptRow } from '../checked-text.ts'
import type { Reservation, ReservationSweep, SweptReservations } from '../journal.ts'
import type { Batch } from '../log/redo.ts'
import type { Applier } from './applier.ts'
import type { View } from './view.ts'

/** The newest value of a reservation, applied or not. */
type Read = (scope: string, key: string) => string | undefined

/**
 * What is over is decided and its removal stands in line in one turn, before all that is appended from then on: a
 * reservation that is given anew is either seen here or written behind the removal.
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

/** A damaged reservation is its reader's to name, and keeps nobody from the others. */
function readable(read: Read, scope: string, key: string): string | undefined {
  try {
    return read(scope, key)
  } catch (error) {
    if (error instanceof CorruptRow) return undefined
    throw error
  }
}

/**
 * An entity begins a new life in this batch, and the view holds an old one: its removal was under way when an earlier
 * process ended. It is carried out first; else its rows would stand beside those of the new life for ever.
 */
export async function finishRemovals(view: View, applier: Applier, { steps }: Batch): Promise<void> {
  const reborn = steps.filter(({ kind, id, version }) => version === 1 && view.record(kind, id) !== undefined)
  if (reborn.length > 0) await applier.exclusive(() => view.removeEntities(view.withTerms(reborn)))
}
