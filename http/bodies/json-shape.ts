/**
 * Checks a JSON text for depth and for repeated members. JSON.parse reports neither: deep nesting overflows its stack,
 * and of a repeated member it silently keeps the last (RFC 8259 section 4).
 */
import { escaped } from '../../machines/canonical.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

interface Shape {
  /** Deepest nesting of objects and arrays. */
  readonly depth: number
  /** Members of all objects; repeated ones count each time. */
  readonly members: number
}

/** Counts brackets and colons outside strings. Takes text that may not be JSON. Hot: one walk over the bytes. */
export function shapeOf(bytes: Uint8Array): Shape {
  let depth = 0
  let deepest = 0
  let members = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) {
      inString = true
    } else if (byte === COLON) {
      members++
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (byte === 0x7d || byte === 0x5d) {
      depth--
    }
  }
  return { depth: deepest, members }
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
