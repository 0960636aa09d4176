/**
 * Bounds on what goes into a key of the view. LMDB refuses a key over 1,978 bytes; met in the applier that
 * would be a failed commit of something already acknowledged, so it is made impossible at the door: what is only
 * compared for equality is shortened by its hash, what is read back from a key is asserted before the append.
 */
import { createHash } from 'node:crypto'
import type { Step } from './journal.ts'

/** Four parts of this length, at three bytes a character, and two names fit into a key. */
const KEY_PART_CHARS_MAX = 120
const KEPT_CHARS = 40

/** A part that is only ever compared for equality: itself, or its beginning and its SHA-256. */
export function keyPart(text: string): string {
  if (text.length <= KEY_PART_CHARS_MAX) return text
  return `${text.slice(0, KEPT_CHARS)}#${createHash('sha256').update(text).digest('hex')}`
}

/** What is read back from a key is bounded before anything is written. Throws RangeError: the caller's mistake. */
export function assertStep(step: Step): void {
  assertKeyPart(step.id, 'the id of an actor')
  for (const term of step.termsAdded) assertKeyPart(term.order, 'the order of a term')
  for (const timer of step.timersSet) assertKeyPart(timer.name, 'the name of a timer')
}

function assertKeyPart(text: string, what: string): void {
  if (text.length > KEY_PART_CHARS_MAX || text.length === 0) {
    throw new RangeError(`${what} has ${text.length} characters; 1 to ${KEY_PART_CHARS_MAX} are allowed`)
  }
  if (text.includes('\n')) throw new RangeError(`${what} holds a line break`)
}
