/**
 * Bounds on what goes into a key of the view. LMDB refuses a key over 1,978 bytes, and lmdb-js cannot decode a key
 * whose parts contain its separator bytes (a text of 64 characters or more with a control character in it falls
 * apart). In the applier either would be a failed commit of something already acknowledged, so both are ruled out
 * before the append: a part that is only compared for equality is replaced by its hash, and one that is read back from
 * a key is asserted.
 */
import { createHash } from 'node:crypto'
import type { Step } from '../journal.ts'

/** Longest part that is stored as it is. Never change it: existing keys would not be found again. */
const KEY_PART_CHARS_MAX = 120
/** Longest id, order or name. Three of them and a part fit into a key at three bytes per character. */
const NAME_CHARS_MAX = 128
const KEPT_CHARS = 40
/** lmdb-js escapes shorter texts, except for a control character at the start, which it takes for an empty text. */
const ESCAPED_CHARS_MAX = 63
const SPACE = 0x20
/** Includes the separators and marks of lmdb-js' keys. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u001f]/g

/** A part that is only compared for equality: the text itself, or its beginning and its SHA-256. */
export function keyPart(text: string): string {
  if (text.length <= ESCAPED_CHARS_MAX && !(text.charCodeAt(0) < SPACE)) return text
  if (text.length <= KEY_PART_CHARS_MAX && !CONTROL.test(text)) return text
  const kept = text.slice(0, KEPT_CHARS).replace(CONTROLS, '_')
  return `${kept}#${createHash('sha256').update(text).digest('hex')}`
}

/**
 * Checks the parts that are read back from keys, before anything is written. Throws RangeError: the caller's mistake.
 */
export function assertStep(step: Step): void {
  assertName(step.id, 'the id of an actor')
  for (const term of step.termsAdded) assertName(term.order, 'the order of a term')
  for (const timer of step.timersSet) assertName(timer.name, 'the name of a timer')
}

/** Whether an actor may have this id. No entity exists under any other. */
export function isActorId(id: string): boolean {
  return id.length > 0 && id.length <= NAME_CHARS_MAX && !CONTROL.test(id)
}

function assertName(text: string, what: string): void {
  if (text.length > NAME_CHARS_MAX || text.length === 0) {
    throw new RangeError(`${what} has ${text.length} characters; 1 to ${NAME_CHARS_MAX} are allowed`)
  }
  if (CONTROL.test(text)) throw new RangeError(`${what} contains a control character`)
}
