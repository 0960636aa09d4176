/** Frames read from a file, one after another. */
import { Buffer } from 'node:buffer'
import { readUpTo } from '../files/read-whole.ts'
import { ALIGNMENT, type Frame, frameBytes, frameOf, HEAD_BYTES, MAGIC, rowMatches } from './frame.ts'

/** Of most files the first frame is all that is read. */
const FIRST_WINDOW_BYTES = 16 * 1024
const WINDOW_BYTES = 1024 * 1024

export interface FrameAt {
  readonly at: number
  readonly frame: Frame
  /** Stand until the next one is asked for. */
  readonly bytes: Buffer
}

/**
 * The frames from a place on, up to the first bytes that are none, or to `end`. With `rows` those of which a row is not what was
 * written are none either. `read`: as `readUpTo` does.
 */
export function* framesFrom(
  file: number,
  from: number,
  end: number,
  rows: 'checked' | 'trusted',
  read = readUpTo,
): Generator<FrameAt, void> {
  let window = Buffer.alloc(0)
  let windowAt = from
  let windowBytes = FIRST_WINDOW_BYTES
  const bytesAt = (at: number, length: number): Buffer | undefined => {
    if (at + length > end) return undefined
    if (at + length > windowAt + window.length) {
      const wanted = Buffer.allocUnsafeSlow(Math.min(end - at, Math.max(length, windowBytes)))
      windowBytes = Math.min(2 * windowBytes, WINDOW_BYTES)
      windowAt = at
      window = wanted.subarray(0, read(file, wanted, at))
      if (length > window.length) return undefined
    }
    return window.subarray(at - windowAt, at - windowAt + length)
  }
  for (let at = from; ; ) {
    const head = bytesAt(at, HEAD_BYTES)
    const length = head && frameBytes(head)
    const bytes = length === undefined ? undefined : bytesAt(at, length)
    const frame = bytes && frameOf(bytes)
    if (bytes === undefined || frame === undefined) return
    if (rows === 'checked' && !frame.rows.every((row) => rowMatches(bytes, row))) return
    yield { at, frame, bytes }
    at += frame.bytes
  }
}

/** Where the first frame begins from a place on; undefined: none does. The bytes of its rows are not looked at. */
export function frameFrom(file: number, from: number, end: number, read = readUpTo): number | undefined {
  for (let at = from; at < end; at += WINDOW_BYTES) {
    // A magic may lie across the end of a window.
    const wanted = Buffer.alloc(Math.min(end - at, WINDOW_BYTES + MAGIC.length))
    const window = wanted.subarray(0, read(file, wanted, at))
    for (let found = window.indexOf(MAGIC); found !== -1; found = window.indexOf(MAGIC, found + 1)) {
      const place = at + found
      if (place % ALIGNMENT === 0 && framesFrom(file, place, end, 'trusted', read).next().done !== true) return place
    }
  }
  return undefined
}

/** Whether a frame begins anywhere from `from` on. What was only begun to be written has none behind it. */
export function hasFrameFrom(file: number, from: number, end: number): boolean {
  return frameFrom(file, from, end) !== undefined
}
