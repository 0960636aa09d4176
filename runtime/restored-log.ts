/**
 * A log that began with a restore. The world went on after its backup was taken, and made ids that this log knows nothing
 * of: whoever holds one of them must not be taken for who holds its namesake here. So a key that this log does not know
 * makes an id of its own, in generations that no other log has.
 */

import { digestOf } from '../machines/digest.ts'
import type { Journal, Reservation } from '../storage/journal.ts'

const SCOPE = 'log'
const KEY = 'restored'

/** Generations of a log that goes on from its beginning lie below. */
const ORDINARY_MAX = 1_000_000
/** Generations that a key may have in one log. */
const ROOM = 1_000
const HEX_DIGITS = 8

/** Kept with a step of the restore: this log is a restored one. */
export function restoredMark(epoch: string): Reservation {
  return { scope: SCOPE, key: KEY, value: epoch }
}

const firsts = new WeakMap<Journal, number>()

/** The first generation of a key that this log does not know: 0, unless the log was restored. */
export function firstGeneration(journal: Journal): number {
  const known = firsts.get(journal)
  if (known !== undefined) return known
  const { epoch } = journal
  const isRestored = journal.reservation(SCOPE, KEY) === epoch
  const place = Number.parseInt(digestOf(['generation', epoch]).slice(-HEX_DIGITS), 16)
  const first = isRestored ? ORDINARY_MAX + place * ROOM : 0
  firsts.set(journal, first)
  return first
}

/** The generation after one that is over, which another log may have made. */
export function nextGeneration(journal: Journal, generation: number): number {
  const first = firstGeneration(journal)
  const isOfThisLog = first === 0 || (generation >= first && generation < first + ROOM)
  return isOfThisLog ? generation + 1 : first
}
