/**
 * A log that began with a restore. After its backup was taken, the original service went on and made ids that this log
 * does not know. The holder of such an id must not be taken for the holder of the same id here. So a key that is
 * unknown to this log yields an id of its own, in generations that no other log uses.
 */

import { digestOf } from '../machines/digest.ts'
import type { Journal, Reservation } from '../storage/journal.ts'

const SCOPE = 'log'
const KEY = 'restored'

/** Generations of a log that was never restored lie below this. */
const ORDINARY_MAX = 1_000_000
/** Number of generations that a key may use in one log. */
const ROOM = 1_000
const HEX_DIGITS = 8

/** Stored with a step of the restore: marks this log as a restored one. */
export function restoredMark(epoch: string): Reservation {
  return { scope: SCOPE, key: KEY, value: epoch }
}

const firsts = new WeakMap<Journal, number>()

/** The first generation of a key that this log does not know: 0 unless the log was restored. */
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

/** The generation after one that has ended, which may have been made in another log. */
export function nextGeneration(journal: Journal, generation: number): number {
  const first = firstGeneration(journal)
  const isOfThisLog = first === 0 || (generation >= first && generation < first + ROOM)
  return isOfThisLog ? generation + 1 : first
}
