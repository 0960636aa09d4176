/**
 * The beginning of a text, at most so many UTF-16 units, never ending in half of a surrogate pair: half a character
 * is no text that an event could carry.
 */
export function clipped(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const last = text.charCodeAt(charsMax - 1)
  const isHighHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHighHalf ? charsMax - 1 : charsMax)
}

/** Longest name that a sentence repeats of what was asked for, characters. */
const NAME_CHARS_MAX = 140

/** A name from outside, as a sentence about it repeats it. */
export function shown(name: string): string {
  return clipped(name, NAME_CHARS_MAX)
}

const REASON_CHARS_MAX = 500

/** Why something stands where it does, as it is kept and told: one line of a bounded length; where nobody gave one, it says so. */
export function reasonOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line === '') return 'none recorded'
  return line.length <= REASON_CHARS_MAX ? line : `${clipped(line, REASON_CHARS_MAX - 1)}…`
}
