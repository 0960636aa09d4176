/**
 * From bytes to a JSON value, strictly: UTF-8, one value, bounded nesting, a bounded number of values and names, no
 * repeated member. All JSON that comes in passes here, be it a whole body or one line of a stream.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import type { FieldProblem } from '../problems.ts'
import { jsonBreaksAt } from './json-position.ts'
import { crowdedNameAt, doubledMember, membersOf, shapeOf } from './json-shape.ts'

/** Nesting of objects and arrays: beyond this a recursive walk might overflow the stack. */
const DEPTH_MAX = 64

/**
 * Members of objects and elements of arrays in one text, by the kind of text. To parse, check and digest 100,000 of them
 * takes the main thread 4 ms if they are numbers, 30 ms if they are short texts.
 */
export const valuesMax = { body: 100_000, events: 200_000, line: 100_000 } as const
/**
 * Different member names in one text. 10,000 of them take 10 to 20 ms: each costs as much as ten members whose name came
 * before.
 */
export const NAMES_MAX = 10_000

type JsonReading =
  | { readonly ok: true; readonly value: any; readonly text: string }
  | {
      readonly ok: false
      readonly code: 'malformed_body' | 'body_too_deep' | 'body_too_wide'
      /** What is wrong; calls the text a body or a line. */
      readonly detail: string
      readonly errors?: readonly FieldProblem[]
    }

/** Reads a body, a post of events, or a line of a stream. */
export function readJson(bytes: Uint8Array, of: keyof typeof valuesMax): JsonReading {
  const what = of === 'line' ? 'line' : 'body'
  const text = textOf(bytes)
  if (text === undefined) return { ok: false, code: 'malformed_body', detail: `The ${what} is not valid UTF-8.` }
  const { depth, members, crowdedAt } = shapeOf(bytes, valuesMax[of])
  if (depth > DEPTH_MAX) {
    return {
      ok: false,
      code: 'body_too_deep',
      detail: `At most ${DEPTH_MAX} levels of objects and arrays are accepted.`,
    }
  }
  const tooWide = (at: number, excess: string): JsonReading => {
    const place = placeOf(Buffer.from(bytes.subarray(0, at)).toString(), what)
    return { ok: false, code: 'body_too_wide', detail: `${place}: ${excess} are taken.` }
  }
  if (crowdedAt !== undefined)
    return tooWide(crowdedAt, `one member or element too many; at most ${valuesMax[of]} of both together`)
  const nameAt = members > NAMES_MAX ? crowdedNameAt(bytes, NAMES_MAX) : undefined
  if (nameAt !== undefined) return tooWide(nameAt, `one name too many; at most ${NAMES_MAX} different names of members`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, code: 'malformed_body', detail: whereItBreaks(text, what) }
  }
  if (membersOf(value) === members) return { ok: true, value, text }
  const errors = [{ pointer: doubledMember(text) ?? '', detail: 'is duplicated: one of the two would be lost' }]
  return { ok: false, code: 'malformed_body', detail: `The ${what} has a duplicate member.`, errors }
}

/** The bytes as text; undefined if they are not UTF-8. Pure ASCII, the usual case, needs no decoding. */
function textOf(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isAscii(bytes)) return buffer.toString('latin1')
  return isUtf8(bytes) ? buffer.toString('utf8') : undefined
}

/** Describes the first character that is not allowed where it stands, with its line and column. */
function whereItBreaks(text: string, what: string): string {
  const at = jsonBreaksAt(text)
  if (at === undefined) return `The ${what} is not JSON.`
  const there = at >= text.length ? `end of the ${what}` : JSON.stringify(String.fromCodePoint(text.codePointAt(at)!))
  return `${placeOf(text.slice(0, at), what)}: unexpected ${there}.`
}

/** Line and column of the end of `before`. */
function placeOf(before: string, what: string): string {
  const line = before.split('\n').length
  const column = before.length - before.lastIndexOf('\n')
  // The reader of a stream reports the line number itself.
  return what === 'line' ? `Column ${column}` : `Line ${line}, column ${column}`
}
