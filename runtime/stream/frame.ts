/**
 * What is sent over a watcher's wire, whole or not at all: hello, events, bookmark, error. A frame is encoded once,
 * however many watchers get it; events are spliced in as the log's own texts, never parsed for it.
 */
import { UTF8_BYTES_PER_UNIT_MAX } from '../../machines/utf8.ts'
import type { LogIdentity } from '../../storage/log/log-identity.ts'
import { encodeCursor } from './cursor.ts'

const TAIL = ']}'
const COMMA = 0x2c

let scratch = Buffer.allocUnsafeSlow(1024 * 1024)

type FrameType = 'hello' | 'events' | 'bookmark' | 'error'

export interface Frame {
  readonly type: FrameType
  /** The sequence that `cursor` names; -1 in an error. */
  readonly sequence: number
  /** The place after this frame's last event. Absent in an error, which moves no cursor. */
  readonly cursor: string | undefined
  /** The frame's JSON in UTF-8: one line, so that it fits an SSE `data:` field as it is. */
  readonly bytes: Buffer
}

/** @param sequence the stream starts after this event */
export function helloFrame(log: LogIdentity, sequence: number, oldest: string): Frame {
  const cursor = encodeCursor(log, sequence)
  return frame('hello', sequence, cursor, `{"type":"hello","cursor":"${cursor}","oldest":"${oldest}"}`)
}

/**
 * Hot: the texts are written one after the other into a buffer that is reused, then copied out. 0.12 us per event of
 * 400 bytes, where joining the texts and encoding the whole takes 0.35 (Node 20.20).
 * @param sequence of the last event
 * @param events in order, each with its JSON text
 */
export function eventsFrame(log: LogIdentity, sequence: number, events: readonly { readonly text: string }[]): Frame {
  const cursor = encodeCursor(log, sequence)
  const head = `{"type":"events","cursor":"${cursor}","events":[`
  let chars = head.length + TAIL.length
  for (const { text } of events) chars += text.length + 1
  if (chars * UTF8_BYTES_PER_UNIT_MAX > scratch.length)
    scratch = Buffer.allocUnsafeSlow(chars * UTF8_BYTES_PER_UNIT_MAX)
  let at = scratch.write(head, 0)
  for (const { text } of events) {
    at += scratch.write(text, at)
    scratch[at++] = COMMA
  }
  // The tail overwrites the last comma.
  const end = at - 1 + scratch.write(TAIL, at - 1)
  return { type: 'events', sequence, cursor, bytes: Buffer.from(scratch.subarray(0, end)) }
}

export function bookmarkFrame(log: LogIdentity, sequence: number): Frame {
  const cursor = encodeCursor(log, sequence)
  return frame('bookmark', sequence, cursor, `{"type":"bookmark","cursor":"${cursor}"}`)
}

/** @param problem an RFC 9457 problem document */
export function errorFrame(problem: object): Frame {
  return frame('error', -1, undefined, JSON.stringify({ type: 'error', problem }))
}

function frame(type: FrameType, sequence: number, cursor: string | undefined, text: string): Frame {
  return { type, sequence, cursor, bytes: Buffer.from(text) }
}
