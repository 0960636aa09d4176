/// <reference lib="es2024.string" />
/**
 * Canonical JSON (RFC 8785): one text for one value, so that the same fact has the same id whoever states it.
 * Invariant: `JSON.parse(canonical(x))` equals x, and equal values have equal texts.
 *
 * Hot: called for every event. Values whose keys are already sorted (everything this service wrote itself) go through
 * JSON.stringify after one walk. Measured on Node 20.20, a payload of 402 bytes and 13 members: 1.5 us if sorted, 2.3
 * us if not; JSON.stringify alone takes 1.1 us.
 */

/** The deepest nesting accepted: deeper values would overflow the stack here and in every reader. */
const NESTING_MAX = 100

/** A value that JSON cannot carry, or that its readers would interpret differently. Retrying cannot help. */
export class NotJson extends TypeError {
  override readonly name = 'NotJson'
  /** RFC 6901 pointer to the offending member, relative to the given value. */
  readonly pointer: string
  /** What was wrong and what was expected. */
  readonly detail: string

  constructor(pointer: string, detail: string) {
    super(pointer === '' ? detail : `${pointer}: ${detail}`)
    this.pointer = pointer
    this.detail = detail
  }
}

/**
 * The canonical text of a JSON value: keys sorted by UTF-16 code units, numbers as ECMAScript writes them.
 * Throws NotJson for what JSON cannot carry (undefined, functions, NaN, infinities, bigints, class instances,
 * lone surrogates) and for nesting deeper than 100 levels.
 */
export function canonical(value: unknown): string {
  return inOrder(value, 0) ? JSON.stringify(value) : written(value, 0, value)
}

/** A JSON string literal: `JSON.stringify` of a string, twice as fast for printable ASCII. Lone surrogates are escaped. */
export function literal(text: string): string {
  return PRINTABLE.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** The same, but throws NotJson on lone surrogates. */
export function quoted(text: string): string {
  if (PRINTABLE.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new NotJson('', 'is not well-formed text: it contains half of a surrogate pair')
  return JSON.stringify(text)
}

const PRINTABLE = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** Whether JSON.stringify writes the canonical text: the value is plain JSON, and all keys are sorted. */
function inOrder(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'boolean' || value === null) return true
  if (typeof value !== 'object' || depth === NESTING_MAX) return false
  if (Array.isArray(value)) {
    for (const element of value) if (!inOrder(element, depth + 1)) return false
    return true
  }
  if (!isPlain(value)) return false
  let previous: string | undefined
  for (const key in value) {
    if (previous !== undefined && previous >= key) return false
    if (!key.isWellFormed() || !inOrder((value as Record<string, unknown>)[key], depth + 1)) return false
    previous = key
  }
  return true
}

/** The text, key by key. `root` is the caller's value: it is searched for the culprit if something is not JSON. */
function written(value: unknown, depth: number, root: unknown): string {
  if (typeof value === 'string' && value.isWellFormed()) return quoted(value)
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? '0' : String(value)
  if (typeof value === 'boolean' || value === null) return String(value)
  if (typeof value !== 'object' || depth === NESTING_MAX) throw culprit(root)
  if (Array.isArray(value)) {
    let elements = ''
    for (const element of value) elements += (elements === '' ? '' : ',') + written(element, depth + 1, root)
    return `[${elements}]`
  }
  if (!isPlain(value)) throw culprit(root)
  let members = ''
  for (const key of Object.keys(value).sort()) {
    if (!key.isWellFormed()) throw culprit(root)
    const member = written((value as Record<string, unknown>)[key], depth + 1, root)
    members += `${(members === '' ? '' : ',') + quoted(key)}:${member}`
  }
  return `{${members}}`
}

/** Whether it is an object as literals and JSON.parse make them. `toJSON` could write anything. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && typeof (value as any).toJSON !== 'function'
}

/** The first member, in order, that is not JSON; searched for only after something was found wrong. */
function culprit(root: unknown): NotJson {
  return find(root, '', 0) ?? new NotJson('', 'cannot be written as JSON')
}

function find(value: unknown, pointer: string, depth: number): NotJson | undefined {
  const fault = whyNotJson(value, depth)
  if (fault !== undefined) return new NotJson(pointer, fault)
  if (typeof value !== 'object' || value === null) return undefined
  const members = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  for (const [key, member] of members) {
    const path = `${pointer}/${escaped(String(key))}`
    if (!String(key).isWellFormed()) return new NotJson(pointer, 'has a name that contains half of a surrogate pair')
    const found = find(member, path, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function whyNotJson(value: unknown, depth: number): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'string') {
    return value.isWellFormed() ? undefined : 'is not well-formed text: it contains half of a surrogate pair'
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : `must be a finite number that fits a double, got ${value}`
  }
  if (typeof value !== 'object') return `must be a JSON value, got ${typeof value}`
  if (depth === NESTING_MAX) return `is nested deeper than ${NESTING_MAX} levels`
  return Array.isArray(value) || isPlain(value) ? undefined : 'must be a plain object, got an instance of a class'
}

/** One reference token of a JSON Pointer (RFC 6901 section 3). */
export function escaped(token: string): string {
  return token.includes('~') || token.includes('/') ? token.replaceAll('~', '~0').replaceAll('/', '~1') : token
}
