/**
 * One file of the log: frames, the first of which says how the log stood when the file was begun. A file that is full ends with
 * a frame that says where its rows are, and with a trailer that says where that frame is; of the newest file that is
 * kept in memory.
 */
import { Buffer } from 'node:buffer'
import { closeSync, createReadStream, createWriteStream, fdatasyncSync, fstatSync, openSync, unlink } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { CorruptRow, textOf } from '../checked-text.ts'
import { COPIED_BYTES } from '../files/copy-file.ts'
import { flushFile } from '../files/flush.ts'
import { FILE_MODE } from '../files/modes.ts'
import { readWhole } from '../files/read-whole.ts'
import { writeWhole } from '../files/write-whole.ts'
import { segmentPath } from '../home/home-paths.ts'
import { type Frame, type FrameRow, FrameWriter, isIndex, KIND, rowMatches } from './frame.ts'
import { type FrameAt, framesFrom, hasFrameFrom } from './frames-in.ts'
import { type Place, RowIndex } from './row-index.ts'
import { type Beginning, partOf, type RowsOf, type Standing } from './standing.ts'
import { Tail } from './tail.ts'
import { TRAILER_BYTES, type Trailer, trailerBytes, trailerIn } from './trailer.ts'
import { openAnew } from './written-by-another.ts'

/**
 * How a file is used: written; read beside its writer, which may remove it, so that it is held open where it must be read for certain;
 * or read while nobody writes, so that it is open only as long as it is read.
 */
export type Use = 'written' | 'followed' | 'undisturbed'

/** Looks at a file that is being written. */
const TRIES_MAX = 5

/** A file of the log that is not what it must be; the message is a sentence about it. */
export class SegmentFault extends Error {
  override readonly name = 'SegmentFault'
}

export class Segment {
  readonly path: string
  readonly ordinal: number
  readonly beginning: Beginning
  /** The number of its first frame. */
  readonly number: number
  /** Where its last whole frame ends. */
  bytes: number
  /** Of a full file: the checksum of its trailer. */
  trailer: number | undefined
  /** Where the last frame ends that `follow` has told of. */
  #followedTo: number
  readonly #tail: Tail
  #file: number | undefined
  #indexes: readonly [RowIndex, RowIndex] | undefined
  #pins = 0
  #isRemoved = false
  readonly #use: Use

  private constructor(path: string, ordinal: number, first: Frame, beginning: Beginning, file: number, use: Use) {
    this.path = path
    this.ordinal = ordinal
    this.number = first.number
    this.beginning = beginning
    this.bytes = first.bytes
    this.#followedTo = first.bytes
    this.#file = file
    this.#use = use
    this.#tail = new Tail(path, () => this.#open())
  }

  /** Makes the file, with its first frame on disk. Throws HomeRefused `locked`, and what the file system throws. */
  static create(folder: string, ordinal: number, number: number, beginning: Beginning): Segment {
    const path = segmentPath(folder, ordinal)
    const writer = new FrameWriter()
    writer.begin()
    writer.add(KIND.head, 0, [JSON.stringify(beginning)])
    const bytes = writer.finish(number, ordinal)
    const file = openAnew(path, FILE_MODE)
    try {
      writeWhole(file, bytes, 0)
      fdatasyncSync(file)
      flushFile(folder)
    } catch (error) {
      closeSync(file)
      throw error
    }
    const segment = new Segment(
      path,
      ordinal,
      { number, ordinal, bytes: bytes.length, rows: [] },
      beginning,
      file,
      'written',
    )
    segment.#indexes = noRows()
    return segment
  }

  /** Undefined: the making of it was cut short. Throws SegmentFault, and what the file system throws. */
  static open(folder: string, ordinal: number, use: Use): Segment | undefined {
    const path = segmentPath(folder, ordinal)
    const file = openSync(path, use === 'written' ? 'r+' : 'r')
    try {
      const { size } = fstatSync(file)
      const first = framesFrom(file, 0, size, 'checked').next().value
      const row = first?.frame.rows[0]
      if (first?.frame.ordinal === ordinal && row?.kind === KIND.head) {
        const beginning = JSON.parse(first.bytes.toString('utf8', row.at, row.at + row.bytes)) as Beginning
        const segment = new Segment(path, ordinal, first.frame, beginning, file, use)
        segment.#sealAt(size, trailerIn(file, size))
        return segment
      }
      if (hasFrameFrom(file, 0, size)) throw new SegmentFault(`${path} does not begin as a file of the log does`)
    } catch (error) {
      closeSync(file)
      throw error
    }
    closeSync(file)
    return undefined
  }

  /** The file is full: nothing is written to it any more. */
  get isSealed(): boolean {
    return this.trailer !== undefined
  }

  /** Throws what the file system throws. */
  get size(): number {
    return fstatSync(this.#open()).size
  }

  /**
   * Takes in the frames that are behind those known, and tells of each. Of the newest file: a full one has a trailer. Throws
   * SegmentFault where whole frames are behind what is none, and where a full file lacks some.
   */
  follow(rows: 'checked' | 'trusted', each: (frame: FrameAt) => void): void {
    const file = this.#open()
    this.#indexes ??= noRows()
    for (let tries = 0; ; ) {
      const { size } = fstatSync(file)
      const before = this.#followedTo
      for (const one of framesFrom(file, this.#followedTo, size, rows)) {
        this.#assertOwn(one)
        if (isIndex(one.frame) || !isHeadWhole(one)) break
        this.added(one.frame, one.at)
        each(one)
      }
      const trailer = trailerIn(file, size)
      const isWhole = trailer === undefined || trailer.frameAt === this.#followedTo
      if (isWhole) this.#sealAt(size, trailer)
      this.#tail.found(size - this.bytes)
      if (isWhole && (this.isSealed || size === this.bytes || !hasFrameFrom(file, this.#followedTo + 1, size))) return
      // Its writer may have gone on in between.
      tries = this.#followedTo > before ? 1 : tries + 1
      if (tries < TRIES_MAX && framesFrom(file, this.#followedTo, this.size, rows).next().done !== true) continue
      throw new SegmentFault(notAsWritten(this.path, this.#followedTo))
    }
  }

  /** Every frame of the file with every row of it. Throws SegmentFault at the first that is not what was written. */
  assertEvery(): void {
    const file = this.#open()
    const end = this.isSealed ? this.size - TRAILER_BYTES : this.size
    let at = 0
    let { number } = this
    for (let from = -1; ; ) {
      for (const { frame } of framesFrom(file, at, end, 'checked')) {
        if (frame.number !== number || frame.ordinal !== this.ordinal) break
        number += 1
        at += frame.bytes
      }
      // At the end of the newest file is what was only begun to be written, and what was written ahead.
      if (at >= end || (!this.isSealed && !hasFrameFrom(file, at + 1, end))) return
      // Its writer may have gone on in between.
      if (at === from) throw new SegmentFault(notAsWritten(this.path, at))
      from = at
    }
  }

  /** Writes a frame behind the last one, as `Tail` does: it is on disk when this returns. */
  append(bytes: Buffer): void {
    this.#tail.append(bytes, this.bytes)
  }

  /** A frame is part of the file now. */
  added({ bytes, rows }: Pick<Frame, 'bytes' | 'rows'>, at = this.bytes): void {
    this.#indexes ??= noRows()
    push(this.#indexes, rows, at)
    this.bytes = at + bytes
    this.#followedTo = this.bytes
  }

  /** Takes away what was only begun to be written, as `Tail` does. */
  cut(): void {
    this.#tail.cut(this.bytes)
  }

  /**
   * Writes the last frame once more where it is: one that was written and not flushed by a process that is gone, or whose flush
   * failed, is on disk after it. So is, of a full file, what says where its rows are, under its number.
   */
  rewrite(at: number, number: number): void {
    const file = this.#open()
    const bytes = Buffer.allocUnsafeSlow(this.#followedTo - at)
    if (this.#use === 'written' && readWhole(file, bytes, at))
      writeWhole(file, this.isSealed ? Buffer.concat([bytes, this.#ending(number)]) : bytes, at)
    fdatasyncSync(file)
  }

  /** The file is full: says where its rows are, for whoever opens it next. */
  seal(number: number): void {
    const ending = this.#ending(number)
    this.#tail.finish(ending, this.bytes)
    const size = this.bytes + ending.length
    this.#sealAt(size, trailerIn(this.#open(), size))
  }

  /** Where its rows of a kind are. */
  rows(kind: RowsOf): RowIndex {
    this.#indexes ??= this.#readIndexes()
    return partOf(this.#indexes, kind)
  }

  get isLoaded(): boolean {
    return this.#indexes !== undefined
  }

  /** Reads a row into a buffer of its own. Throws CorruptRow, and what the file system throws. */
  text({ at, bytes, checksum }: Place): string {
    const row = scratchOf(bytes)
    if (!readWhole(this.#open(), row, at)) throw new CorruptRow()
    return textOf(row, checksum)
  }

  /** Some bytes of the file as they are; false: it ends before. */
  read(into: Buffer, at: number): boolean {
    return readWhole(this.#open(), into, at)
  }

  /** Copies its first bytes. To be pinned while it is under way. */
  async copyTo(path: string, bytes: number, signal?: AbortSignal): Promise<void> {
    try {
      await pipeline(
        createReadStream(this.path, { start: 0, end: bytes - 1, highWaterMark: COPIED_BYTES }),
        createWriteStream(path, { mode: FILE_MODE }),
        signal === undefined ? {} : { signal },
      )
    } catch (error) {
      const { syscall, message } = error as NodeJS.ErrnoException
      if (syscall !== 'read') throw error
      throw new Error(`${this.path} cannot be read (${message})`, { cause: error })
    }
  }

  /** Until it is let go it can be read, whatever becomes of it: one that another process may remove is held open. */
  pin(): void {
    if (this.#use === 'followed') this.#open()
    this.#pins += 1
  }

  unpin(): void {
    this.#pins -= 1
    if (this.#pins > 0) return
    if (this.#isRemoved) this.#unlink()
    else if (!this.isLoaded) this.close()
  }

  /** What is kept in memory of a full file. */
  unload(): void {
    this.#indexes = undefined
    if (this.#pins === 0 || this.#use !== 'followed') this.close()
  }

  /** It goes, once nobody has it pinned; a process that ends before leaves it to the next one. */
  remove(): void {
    this.#isRemoved = true
    if (this.#pins === 0) this.#unlink()
  }

  close(): void {
    if (this.#file === undefined) return
    this.#tail.leave(this.bytes)
    closeSync(this.#file)
    this.#file = undefined
  }

  #open(): number {
    this.#file ??= openSync(this.path, this.#use === 'written' ? 'r+' : 'r')
    return this.#file
  }

  /** Beside other work, since to give 64 MB back takes the file system its time. */
  #unlink(): void {
    this.unload()
    unlink(this.path, () => {})
  }

  #assertOwn({ at, frame }: FrameAt): void {
    if (frame.ordinal !== this.ordinal)
      throw new SegmentFault(`${this.path} is damaged (byte ${at} is of another file)`)
  }

  #ending(number: number): Buffer {
    const writer = new FrameWriter()
    writer.begin()
    for (const kind of [KIND.events, KIND.redo] as const) writer.addBytes(KIND.index, kind, this.rows(kind).toBytes())
    const frame = writer.finish(number, this.ordinal)
    return Buffer.concat([frame, trailerBytes(frame, this.#followedTo)])
  }

  #sealAt(size: number, trailer: Trailer | undefined): void {
    this.trailer = trailer?.checksum
    this.bytes = trailer === undefined ? this.#followedTo : size
  }

  /** From the last frame of the file; where that is damaged, from all others. */
  #readIndexes(): readonly [RowIndex, RowIndex] {
    const file = this.#open()
    const indexAt = trailerIn(file, this.bytes)?.frameAt ?? this.bytes
    const last = framesFrom(file, indexAt, this.bytes, 'checked').next().value
    const of = (kind: RowsOf): FrameRow | undefined =>
      last?.frame.rows.find((row) => row.kind === KIND.index && row.key === kind)
    const rows = [of(KIND.events), of(KIND.redo)] as const
    if (last !== undefined && rows[0] !== undefined && rows[1] !== undefined) {
      const [events, redo] = rows.map((row: FrameRow | undefined) =>
        RowIndex.from(last.bytes.subarray(row!.at, row!.at + row!.bytes)),
      )
      return [events!, redo!]
    }
    const indexes = noRows()
    let to = 0
    for (const { at, frame } of framesFrom(file, 0, indexAt, 'trusted')) {
      push(indexes, frame.rows, at)
      to = at + frame.bytes
    }
    if (to !== indexAt) throw new CorruptRow(notAsWritten(this.path, to))
    return indexes
  }
}

const notAsWritten = (path: string, at: number): string =>
  `${path} is damaged (the frame at byte ${at} is not what was written)`

const noRows = (): [RowIndex, RowIndex] => [new RowIndex(), new RowIndex()]

/** The rows of a frame that begins there. */
function push(indexes: readonly [RowIndex, RowIndex], rows: readonly FrameRow[], frameAt: number): void {
  for (const { kind, key, at, bytes, checksum } of rows)
    if (kind === KIND.events || kind === KIND.redo) partOf(indexes, kind).push(key, frameAt + at, bytes, checksum)
}

/** Whether what it says of the standing of the log can be read: while it is being written part of it may not be there. */
function isHeadWhole({ frame, bytes }: FrameAt): boolean {
  return frame.rows.every((row) => row.kind !== KIND.head || rowMatches(bytes, row))
}

/** What a frame says of the standing of the log, if anything. */
export function changesIn({ frame, bytes }: FrameAt): Partial<Standing> | undefined {
  const row = frame.rows.find(({ kind }) => kind === KIND.head)
  return row && (JSON.parse(bytes.toString('utf8', row.at, row.at + row.bytes)) as Partial<Standing>)
}

let scratch = Buffer.allocUnsafeSlow(64 * 1024)

function scratchOf(bytes: number): Buffer {
  if (bytes > scratch.length) scratch = Buffer.allocUnsafeSlow(bytes)
  return scratch.subarray(0, bytes)
}
