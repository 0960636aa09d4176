/** Reads frames from a file, one after another. */
import { Buffer } from 'node:buffer'
import { readUpTo } from '../files/read-whole.ts'
import { ALIGNMENT, type Frame, frameBytes, frameOf, HEAD_BYTES, MAGIC, rowMatches } from './frame.ts'

/** Of most files only the first frame is read. */
const FIRST_WINDOW_BYTES = 16 * 1024
const WINDOW_BYTES = 1024 * 1024

export interface FrameAt {
  readonly at: number
  readonly frame: Frame
  /** Valid until the next frame is asked for. */
  readonly bytes: Buffer
}

/**
 * The frames from a place on, up to `end` or the first bytes that are no frame. With 'checked', a frame with a damaged
 * row counts as none. `read` works like `readUpTo`.
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

/** Place of the first frame from `from` on; undefined if there is none. Does not check the bytes of its rows. */
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

/** Whether a frame begins anywhere from `from` on. After an unfinished write there is none. */
export function hasFrameFrom(file: number, from: number, end: number): boolean {
  return frameFrom(file, from, end) !== undefined
}
