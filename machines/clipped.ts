/**
 * The beginning of a text, at most `charsMax` UTF-16 units, never ending in half of a surrogate pair: an event cannot
 * carry half a character.
 */
export function clipped(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const last = text.charCodeAt(charsMax - 1)
  const isHighHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHighHalf ? charsMax - 1 : charsMax)
}

/** The longest name that a sentence repeats, characters. */
const NAME_CHARS_MAX = 140

/** A name given from outside, shortened for use in a sentence. */
export function shown(name: string): string {
  return clipped(name, NAME_CHARS_MAX)
}

const REASON_CHARS_MAX = 500

/** A reason as it is stored and served: one line of bounded length; `none recorded` if the text is empty. */
export function reasonOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line === '') return 'none recorded'
  return line.length <= REASON_CHARS_MAX ? line : `${clipped(line, REASON_CHARS_MAX - 1)}…`
}
