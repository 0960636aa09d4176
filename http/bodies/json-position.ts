/**
 * Finds where a text stops being JSON (RFC 8259). V8 names a position only for some faults. This walks the text a
 * second time, and only a text that has failed to parse.
 */

const WHITESPACE = /[ \t\n\r]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a JSON string may not hold.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
/** The valid prefix of a string: where it ends is where the string breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a JSON string may not hold.
const STRING_PART = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

class Walk {
  readonly #text: string
  at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Reads one whole value with nothing after it. */
  document(): boolean {
    return this.#value() && this.at === this.#text.length
  }

  #value(): boolean {
    this.#take(WHITESPACE)
    const first = this.#text[this.at]
    const isRight = first === '{' ? this.#members() : first === '[' ? this.#elements() : this.#scalar()
    if (isRight) this.#take(WHITESPACE)
    return isRight
  }

  #scalar(): boolean {
    return this.#text[this.at] === '"' ? this.#string() : this.#take(SCALAR)
  }

  #string(): boolean {
    if (this.#take(STRING)) return true
    this.#take(STRING_PART)
    return false
  }

  #elements(): boolean {
    return this.#list(']', () => this.#value())
  }

  #members(): boolean {
    return this.#list('}', () => {
      this.#take(WHITESPACE)
      if (this.#text[this.at] !== '"' || !this.#string()) return false
      this.#take(WHITESPACE)
      return this.#skip(':') && this.#value()
    })
  }

  #list(end: string, item: () => boolean): boolean {
    this.at++
    this.#take(WHITESPACE)
    if (this.#skip(end)) return true
    do if (!item()) return false
    while (this.#skip(','))
    return this.#skip(end)
  }

  #skip(character: string): boolean {
    if (this.#text[this.at] !== character) return false
    this.at++
    return true
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)
    if (found === null) return false
    this.at += found[0].length
    return true
  }
}

/**
 * Index of the first character that is not allowed where it stands; undefined if the text is JSON. Nesting must be
 * bounded.
 */
export function jsonBreaksAt(text: string): number | undefined {
  const walk = new Walk(text)
  return walk.document() ? undefined : walk.at
}
