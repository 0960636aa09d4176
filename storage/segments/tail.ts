/**
 * The end of the file that is written. Behind the last whole frame is nothing, or zeros that were written ahead, or what a
 * process that is gone had begun to write: never anything that was acknowledged.
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
 * Zeros behind a small frame for which there was no room among those before it. A flush costs a file system half as much where
 * the file is as long as before, so that frames which come one by one each wait for their own bytes alone.
 */
const AHEAD_BYTES = 256 * 1024
/** A larger frame makes the file as long as it is: beside so many bytes, zeros would cost what they save. */
const SMALL_FRAME_BYTES = 16 * 1024
const ZEROS = Buffer.alloc(AHEAD_BYTES)

export class Tail {
  readonly #path: string
  readonly #open: () => number
  /** What was behind the last whole frame when the file was looked at. */
  #tornBytes = 0
  /** What was written ahead. */
  #blankBytes = 0

  /** `open` answers the file. */
  constructor(path: string, open: () => number) {
    this.#path = path
    this.#open = open
  }

  /** The file was looked at: so much is behind its last whole frame. */
  found(bytes: number): void {
    this.#tornBytes = bytes
    this.#blankBytes = 0
  }

  /**
   * Writes a frame behind the last one, which ends at `end`; it is on disk when this returns. Throws what the file system throws: then
   * part of it may be there, and all of it at the next start, which is no fault of what nobody was told of. Throws HomeRefused `locked`.
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

  /** Writes what the file ends with, as `append` does, and nothing is behind it. */
  finish(ending: Buffer, end: number): void {
    this.cut(end)
    this.#flushed(end, (file) => {
      this.#trim(end)
      writeWhole(file, ending, end)
    })
  }

  /**
   * Takes away what was only begun to be written when the file was looked at. Throws HomeRefused `locked` where another process has
   * written since, whether there is something to take away or not: that was acknowledged.
   */
  cut(end: number): void {
    const file = this.#open()
    const sizeKnown = end + this.#tornBytes + this.#blankBytes
    const { size } = fstatSync(file)
    // Who had written ahead has closed the file, and wrote nothing.
    if (this.#tornBytes > 0 && size === end) this.#tornBytes = 0
    else if (size !== sizeKnown) throw writtenByAnother(this.#path, sizeKnown)
    // Another's frames may have made the file as long as the zeros had.
    if (this.#blankBytes > 0 && !isBlank(file, end)) throw writtenByAnother(this.#path, end)
    if (this.#tornBytes === 0) return
    // Its writer may have been in the midst of it then. The end of a full file is none of it until its trailer is there.
    const begun = framesFrom(file, end, sizeKnown, 'checked').next().value
    const isFull = trailerIn(file, sizeKnown) !== undefined
    if (isFull || (begun !== undefined && !isIndex(begun.frame))) throw writtenByAnother(this.#path, end)
    ftruncateSync(file, end)
    this.#tornBytes = 0
  }

  /** The file is let go: what was written ahead is given back, unless another process has written since. */
  leave(end: number): void {
    if (this.#blankBytes === 0) return
    try {
      this.cut(end)
      this.#trim(end)
    } catch {
      // The next start takes it away.
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
        // It stays, and the next start takes it in.
      }
      throw error
    }
  }
}

const head = Buffer.alloc(HEAD_BYTES)

/** Whether no frame begins there. */
function isBlank(file: number, at: number): boolean {
  const read = readUpTo(file, head, at)
  return ZEROS.compare(head, 0, read, 0, read) === 0
}

/** How much was written there; what there is no room for is done without. Throws what the file system throws. */
function writeAhead(file: number, at: number): number {
  try {
    writeWhole(file, ZEROS, at)
    return ZEROS.length
  } catch {
    ftruncateSync(file, at)
    return 0
  }
}
