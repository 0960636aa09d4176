/**
 * From bytes to a JSON value, strictly: UTF-8, one value, nesting that readers can stand, and no member twice. Every
 * door that takes JSON reads it here, be it a whole body or one line of a stream.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import type { FieldProblem } from '../problems.ts'
import { jsonBreaksAt } from './json-position.ts'
import { doubledMember, membersOf, shapeOf } from './json-shape.ts'

/** Objects and arrays within each other: past this a recursive walk could end the stack. */
const DEPTH_MAX = 64

type JsonReading =
  | { readonly ok: true; readonly value: any; readonly text: string }
  | {
      readonly ok: false
      readonly code: 'malformed_body' | 'body_too_deep'
      /** What is wrong, of a text called `what`. */
      readonly detail: string
      readonly errors?: readonly FieldProblem[]
    }

/** `what` names the text in sentences: `body`, `line`. */
export function readJson(bytes: Uint8Array, what: string): JsonReading {
  const text = textOf(bytes)
  if (text === undefined) return { ok: false, code: 'malformed_body', detail: `The ${what} is not valid UTF-8.` }
  const { depth, members } = shapeOf(bytes)
  if (depth > DEPTH_MAX) {
    return { ok: false, code: 'body_too_deep', detail: `At most ${DEPTH_MAX} levels of objects and arrays are taken.` }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, code: 'malformed_body', detail: whereItBreaks(text, what) }
  }
  if (membersOf(value) === members) return { ok: true, value, text }
  const errors = [{ pointer: doubledMember(text) ?? '', detail: 'is there already: one of the two would be lost' }]
  return { ok: false, code: 'malformed_body', detail: `The ${what} gives a member twice.`, errors }
}

/** The bytes as text; undefined when they are not UTF-8. Pure ASCII, the usual case, needs no decoding. */
function textOf(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isAscii(bytes)) return buffer.toString('latin1')
  return isUtf8(bytes) ? buffer.toString('utf8') : undefined
}

/** Line and column of the first character that cannot stand where it stands, and what is there. */
function whereItBreaks(text: string, what: string): string {
  const at = jsonBreaksAt(text)
  if (at === undefined) return `The ${what} is not JSON.`
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = before.length - before.lastIndexOf('\n')
  const there =
    at >= text.length ? `the end of the ${what}` : JSON.stringify(String.fromCodePoint(text.codePointAt(at)!))
  // Which line of a stream it is, its reader says.
  const place = what === 'line' ? 'Column' : `Line ${line}, column`
  return `${place} ${column}: ${there} was not expected.`
}
