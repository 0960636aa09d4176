/**
 * Checks a JSON text for depth, for its number of values and names, and for repeated members. JSON.parse reports none of
 * these: deep nesting overflows its stack, many values keep it busy for long, and of a repeated member it silently keeps
 * the last (RFC 8259 section 4).
 */
import { randomInt } from 'node:crypto'
import { escaped } from '../../machines/canonical.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const SPACE = 0x20

interface Shape {
  /** Deepest nesting of objects and arrays. */
  readonly depth: number
  /** Members of all objects; repeated ones count each time. */
  readonly members: number
  /** Members of all objects and elements of all arrays. */
  readonly values: number
  /** Offset in the bytes at which the first value too many begins: the walk ends there. */
  readonly crowdedAt?: number
}

/**
 * Counts brackets, colons and commas outside strings. Takes text that may not be JSON. Hot: one walk over the bytes,
 * which ends where there are more than `valuesMax` values.
 */
export function shapeOf(bytes: Uint8Array, valuesMax = Number.POSITIVE_INFINITY): Shape {
  let depth = 0
  let deepest = 0
  let members = 0
  let values = 0
  let inString = false
  /** True while nothing has come yet inside the object or array that was opened last. */
  let isEmpty = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inString = false
      continue
    }
    if (byte === COMMA || (isEmpty && byte > SPACE && byte !== CLOSE_OBJECT && byte !== CLOSE_ARRAY)) {
      isEmpty = false
      if (++values > valuesMax) return { depth: deepest, members, values, crowdedAt: i }
    }
    if (byte === QUOTE) {
      inString = true
    } else if (byte === COLON) {
      members++
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      isEmpty = true
      depth++
      if (depth > deepest) deepest = depth
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      isEmpty = false
      depth--
    }
  }
  return { depth: deepest, members, values }
}

/**
 * What a factor must be, so that it mixes enough: not next to a multiple of a high power of two (next to one of 65,536, it
 * took up to four of five names for others), and with enough changes from one bit to the next.
 */
const LOW_BITS = 0x1ff
const BIT_CHANGES_MIN = 12

/**
 * Names are told apart by this many bits of a hash. Its factor is different in each process, so that nobody can choose
 * names which it takes for the same.
 */
const HASH_BITS = 20
const HASH_FACTOR = hashFactor()

/** An odd number of 32 bits, by which no more than some 1.2 of a hundred names are taken for others (measured). */
export function hashFactor(): number {
  for (;;) {
    const factor = randomInt(2 ** 31, 2 ** 32) | 1
    if (isMixing(factor)) return factor
  }
}

export function isMixing(factor: number): boolean {
  const isNearPower = ((factor + 1) & LOW_BITS) === 0 || ((factor - 1) & LOW_BITS) === 0
  return !isNearPower && bitsIn(factor ^ (factor >>> 1)) >= BIT_CHANGES_MIN
}

function bitsIn(number: number): number {
  let bits = 0
  for (let left = number >>> 0; left !== 0; left = (left & (left - 1)) >>> 0) bits++
  return bits
}

/**
 * Offset in the bytes of the member with which there are more than `namesMax` different names; undefined if there are
 * not so many. Of some thousands of names a hundredth is not counted, and none is counted twice. Takes text that may not
 * be JSON. One walk over the bytes.
 */
export function crowdedNameAt(bytes: Uint8Array, namesMax: number, factor = HASH_FACTOR): number | undefined {
  const seen = new Uint8Array(2 ** HASH_BITS)
  let names = 0
  let hash = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i]!
    if (inString) {
      if (byte === QUOTE) {
        inString = false
        continue
      }
      if (byte === BACKSLASH) byte = bytes[++i] ?? 0
      hash = Math.imul(hash ^ byte, factor)
      // A product alone takes many names that differ in a digit or two for the same, with one factor in sixty.
      hash ^= hash >>> 15
    } else if (byte === QUOTE) {
      inString = true
      hash = factor
    } else if (byte === COLON) {
      const slot = hash >>> (32 - HASH_BITS)
      if (seen[slot] === 0 && ++names > namesMax) return i
      seen[slot] = 1
    }
  }
  return undefined
}

/** Number of members of all objects in a parsed value: lower than in its text if one was repeated. */
export function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) members += membersOf(element)
    return members
  }
  for (const key in value) members += 1 + membersOf((value as Record<string, unknown>)[key])
  return members
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g

interface Level {
  /** Names seen so far; undefined in an array. */
  readonly names: Set<string> | undefined
  /** The current member or element. */
  at: string
  index: number
  isNameNext: boolean
}

/** JSON pointer to the first repeated member; undefined if there is none. The text must be JSON. */
export function doubledMember(text: string): string | undefined {
  const levels: Level[] = []
  for (const [token] of text.matchAll(TOKEN)) {
    const level = levels.at(-1)
    if (token === '{') levels.push({ names: new Set(), at: '', index: 0, isNameNext: true })
    else if (token === '[') levels.push({ names: undefined, at: '0', index: 0, isNameNext: false })
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ',') {
      level!.isNameNext = level!.names !== undefined
      if (level!.names === undefined) level!.at = String(++level!.index)
    } else if (token === ':') level!.isNameNext = false
    else if (level?.isNameNext) {
      const name = JSON.parse(token) as string
      level.at = name
      if (level.names!.has(name)) return levels.map(({ at }) => `/${escaped(at)}`).join('')
      level.names!.add(name)
    }
  }
  return undefined
}
