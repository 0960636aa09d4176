/**
 * The end of the file being written. After its last whole frame come nothing, zeros written ahead, or an unfinished
 * write of a process that is gone: never anything that was acknowledged.
 */
import { Buffer } from 'node:buffer'
import { fdatasyncSync, fstatSync, ftruncateSync } from 'node:fs'
import { readUpTo } from '../files/read-whole.ts'
import { writeWhole } from '../files/write-whole.ts'
import { HEAD_BYTES, isIndex } from './frame.ts'
import { framesFrom } from './frames-in.ts'
import { trailerIn } from './trailer.ts'
import { writtenByAnother } from './written-by-another.ts'

/**
 * Zeros written after a small frame that did not fit into those before it. A flush costs a file system half as much if
 * the file keeps its length, so frames that come one by one each wait for their own bytes alone.
 */
const AHEAD_BYTES = 256 * 1024
/** A larger frame extends the file by itself: for that many bytes, zeros would cost what they save. */
const SMALL_FRAME_BYTES = 16 * 1024
const ZEROS = Buffer.alloc(AHEAD_BYTES)

export class Tail {
  readonly #path: string
  readonly #open: () => number
  /** Bytes after the last whole frame when the file was last read. */
  #tornBytes = 0
  /** Bytes of zeros written ahead. */
  #blankBytes = 0

  /** `open` returns the file descriptor. */
  constructor(path: string, open: () => number) {
    this.#path = path
    this.#open = open
  }

  /** The file was read: this many bytes follow its last whole frame. */
  found(bytes: number): void {
    this.#tornBytes = bytes
    this.#blankBytes = 0
  }

  /**
   * Writes a frame after the last one, which ends at `end`; it is on disk when this returns. Throws HomeRefused
   * `locked`, and file system errors. After such an error part of the frame may be on disk, or the next start may find
   * all of it, which is harmless, since nobody was told of it.
   */
  append(frame: Buffer, end: number): void {
    this.cut(end)
    this.#flushed(end, (file) => {
      writeWhole(file, frame, end)
      this.#blankBytes -= frame.length
      if (this.#blankBytes < 0)
        this.#blankBytes = frame.length > SMALL_FRAME_BYTES ? 0 : writeAhead(file, end + frame.length)
    })
  }

  /** Writes the end of a full file, as `append` does, with nothing after it. */
  finish(ending: Buffer, end: number): void {
    this.cut(end)
    this.#flushed(end, (file) => {
      this.#trim(end)
      writeWhole(file, ending, end)
    })
  }

  /**
   * Cuts off what was unfinished when the file was last read. Throws HomeRefused `locked` if another process has
   * written since, even if there is nothing to cut: what it wrote was acknowledged.
   */
  cut(end: number): void {
    const file = this.#open()
    const sizeKnown = end + this.#tornBytes + this.#blankBytes
    const { size } = fstatSync(file)
    // The process that had written ahead has closed the file, without writing anything else.
    if (this.#tornBytes > 0 && size === end) this.#tornBytes = 0
    else if (size !== sizeKnown) throw writtenByAnother(this.#path, sizeKnown)
    // Another process's frames may have made the file exactly as long as the zeros had.
    if (this.#blankBytes > 0 && !isBlank(file, end)) throw writtenByAnother(this.#path, end)
    if (this.#tornBytes === 0) return
    // The unfinished frame's writer may have completed it since. The end of a full file counts only once its trailer
    // is there.
    const begun = framesFrom(file, end, sizeKnown, 'checked').next().value
    const isFull = trailerIn(file, sizeKnown) !== undefined
    if (isFull || (begun !== undefined && !isIndex(begun.frame))) throw writtenByAnother(this.#path, end)
    ftruncateSync(file, end)
    this.#tornBytes = 0
  }

  /** Before closing: gives back the zeros written ahead, unless another process has written since. */
  leave(end: number): void {
    if (this.#blankBytes === 0) return
    try {
      this.cut(end)
      this.#trim(end)
    } catch {
      // The next start cuts them off.
    }
  }

  #trim(end: number): void {
    if (this.#blankBytes > 0) ftruncateSync(this.#open(), end)
    this.#blankBytes = 0
  }

  #flushed(end: number, write: (file: number) => void): void {
    const file = this.#open()
    try {
      write(file)
      fdatasyncSync(file)
    } catch (error) {
      this.#blankBytes = 0
      try {
        ftruncateSync(file, end)
      } catch {
        // The frame stays, and the next start takes it in.
      }
      throw error
    }
  }
}

const head = Buffer.alloc(HEAD_BYTES)

/** Whether no frame begins here. */
function isBlank(file: number, at: number): boolean {
  const read = readUpTo(file, head, at)
  return ZEROS.compare(head, 0, read, 0, read) === 0
}

/** Returns how many zeros were written: none if there is no room. Throws file system errors. */
function writeAhead(file: number, at: number): number {
  try {
    writeWhole(file, ZEROS, at)
    return ZEROS.length
  } catch {
    ftruncateSync(file, at)
    return 0
  }
}
