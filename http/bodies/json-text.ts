/**
 * From bytes to a JSON value, strictly: UTF-8, one value, bounded nesting, no repeated member. All JSON that comes in
 * passes here, be it a whole body or one line of a stream.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import type { FieldProblem } from '../problems.ts'
import { jsonBreaksAt } from './json-position.ts'
import { doubledMember, membersOf, shapeOf } from './json-shape.ts'

/** Nesting of objects and arrays: beyond this a recursive walk might overflow the stack. */
const DEPTH_MAX = 64

type JsonReading =
  | { readonly ok: true; readonly value: any; readonly text: string }
  | {
      readonly ok: false
      readonly code: 'malformed_body' | 'body_too_deep'
      /** What is wrong; calls the text `what`. */
      readonly detail: string
      readonly errors?: readonly FieldProblem[]
    }

/** `what` names the text in messages: `body`, `line`. */
export function readJson(bytes: Uint8Array, what: string): JsonReading {
  const text = textOf(bytes)
  if (text === undefined) return { ok: false, code: 'malformed_body', detail: `The ${what} is not valid UTF-8.` }
  const { depth, members } = shapeOf(bytes)
  if (depth > DEPTH_MAX) {
    return {
      ok: false,
      code: 'body_too_deep',
      detail: `At most ${DEPTH_MAX} levels of objects and arrays are accepted.`,
    }
  }
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
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = before.length - before.lastIndexOf('\n')
  const there = at >= text.length ? `end of the ${what}` : JSON.stringify(String.fromCodePoint(text.codePointAt(at)!))
  // The reader of a stream reports the line number itself.
  const place = what === 'line' ? 'Column' : `Line ${line}, column`
  return `${place} ${column}: unexpected ${there}.`
}
