/**
 * One file of the log, made of frames. The first records the state of the log when the file was begun. A full file
 * ends with a frame that holds the places of its rows, and a trailer that points to that frame; those of the newest
 * file are kept in memory.
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
import { type LogState, partOf, type RowKind, type SegmentHeader } from './log-state.ts'
import { type Place, RowIndex } from './row-index.ts'
import { Tail } from './tail.ts'
import { TRAILER_BYTES, type Trailer, trailerBytes, trailerIn } from './trailer.ts'
import { openAnew } from './written-by-another.ts'

/**
 * How a file is used. `written`: by the writer. `followed`: read beside a writer, which may remove it, so it is held
 * open while it must stay readable. `undisturbed`: read while nobody writes, and open only while it is being read.
 */
export type Use = 'written' | 'followed' | 'undisturbed'

/** Attempts to read a file that is being written. */
const TRIES_MAX = 5

/** A file of the log that is not as it must be; the message is a sentence about it. */
export class SegmentFault extends Error {
  override readonly name = 'SegmentFault'
}

export class Segment {
  readonly path: string
  readonly ordinal: number
  readonly header: SegmentHeader
  /** Number of its first frame. */
  readonly number: number
  /** End of its last whole frame. */
  bytes: number
  /** The checksum of the trailer, if the file is full. */
  trailer: number | undefined
  /** End of the last frame that `follow` has reported. */
  #followedTo: number
  readonly #tail: Tail
  #file: number | undefined
  #indexes: readonly [RowIndex, RowIndex] | undefined
  #pins = 0
  #isRemoved = false
  readonly #use: Use

  private constructor(path: string, ordinal: number, first: Frame, header: SegmentHeader, file: number, use: Use) {
    this.path = path
    this.ordinal = ordinal
    this.number = first.number
    this.header = header
    this.bytes = first.bytes
    this.#followedTo = first.bytes
    this.#file = file
    this.#use = use
    this.#tail = new Tail(path, () => this.#open())
  }

  /** Creates the file with its first frame on disk. Throws HomeRefused `locked`, and file system errors. */
  static create(folder: string, ordinal: number, number: number, header: SegmentHeader): Segment {
    const path = segmentPath(folder, ordinal)
    const writer = new FrameWriter()
    writer.begin()
    writer.add(KIND.head, 0, [JSON.stringify(header)])
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
      header,
      file,
      'written',
    )
    segment.#indexes = noRows()
    return segment
  }

  /** Undefined if its creation was cut short. Throws SegmentFault, and file system errors. */
  static open(folder: string, ordinal: number, use: Use): Segment | undefined {
    const path = segmentPath(folder, ordinal)
    const file = openSync(path, use === 'written' ? 'r+' : 'r')
    try {
      const { size } = fstatSync(file)
      const first = framesFrom(file, 0, size, 'checked').next().value
      const row = first?.frame.rows[0]
      if (first?.frame.ordinal === ordinal && row?.kind === KIND.head) {
        const header = JSON.parse(first.bytes.toString('utf8', row.at, row.at + row.bytes)) as SegmentHeader
        const segment = new Segment(path, ordinal, first.frame, header, file, use)
        segment.#sealAt(size, trailerIn(file, size))
        return segment
      }
      if (hasFrameFrom(file, 0, size)) throw new SegmentFault(`${path} does not begin like a log file`)
    } catch (error) {
      closeSync(file)
      throw error
    }
    closeSync(file)
    return undefined
  }

  /** The file is full: nothing more is written to it. */
  get isSealed(): boolean {
    return this.trailer !== undefined
  }

  /** Throws file system errors. */
  get size(): number {
    return fstatSync(this.#open()).size
  }

  /**
   * Takes in the frames after those known, and reports each. For the newest file; a full one has a trailer. Throws
   * SegmentFault if whole frames follow something that is none, or if a full file lacks some.
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
      // The writer may have written more in between.
      tries = this.#followedTo > before ? 1 : tries + 1
      if (tries < TRIES_MAX && framesFrom(file, this.#followedTo, this.size, rows).next().done !== true) continue
      throw new SegmentFault(notAsWritten(this.path, this.#followedTo))
    }
  }

  /** Checks every frame and row of the file. Throws SegmentFault at the first that is not what was written. */
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
      // The newest file may end with an unfinished frame and with zeros written ahead.
      if (at >= end || (!this.isSealed && !hasFrameFrom(file, at + 1, end))) return
      // The writer may have written more in between.
      if (at === from) throw new SegmentFault(notAsWritten(this.path, at))
      from = at
    }
  }

  /** Writes a frame after the last one, as `Tail` does; it is on disk when this returns. */
  append(bytes: Buffer): void {
    this.#tail.append(bytes, this.bytes)
  }

  /** Counts a written frame as part of the file. */
  added({ bytes, rows }: Pick<Frame, 'bytes' | 'rows'>, at = this.bytes): void {
    this.#indexes ??= noRows()
    push(this.#indexes, rows, at)
    this.bytes = at + bytes
    this.#followedTo = this.bytes
  }

  /** Cuts off an unfinished frame, as `Tail` does. */
  cut(): void {
    this.#tail.cut(this.bytes)
  }

  /**
   * Writes the last frame again in place, so that it is on disk even if a process that is gone did not flush it, or
   * its flush failed. In a full file, so are the index frame, with the given number, and the trailer.
   */
  rewrite(at: number, number: number): void {
    const file = this.#open()
    const bytes = Buffer.allocUnsafeSlow(this.#followedTo - at)
    if (this.#use === 'written' && readWhole(file, bytes, at))
      writeWhole(file, this.isSealed ? Buffer.concat([bytes, this.#ending(number)]) : bytes, at)
    fdatasyncSync(file)
  }

  /** Marks the file as full: writes the places of its rows, for whoever opens it next. */
  seal(number: number): void {
    const ending = this.#ending(number)
    this.#tail.finish(ending, this.bytes)
    const size = this.bytes + ending.length
    this.#sealAt(size, trailerIn(this.#open(), size))
  }

  /** The places of its rows of a kind. */
  rows(kind: RowKind): RowIndex {
    this.#indexes ??= this.#readIndexes()
    return partOf(this.#indexes, kind)
  }

  get isLoaded(): boolean {
    return this.#indexes !== undefined
  }

  /** Reads a row. Throws CorruptRow, and file system errors. */
  text({ at, bytes, checksum }: Place): string {
    const row = scratchOf(bytes)
    if (!readWhole(this.#open(), row, at)) throw new CorruptRow()
    return textOf(row, checksum)
  }

  /** Reads bytes of the file as they are; false if it ends first. */
  read(into: Buffer, at: number): boolean {
    return readWhole(this.#open(), into, at)
  }

  /** Copies the first `bytes` bytes. The file must be pinned meanwhile. */
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

  /** Keeps the file readable until `unpin`, even if it is removed; one that another process may remove is held open. */
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

  /** Drops what is kept in memory of a full file. */
  unload(): void {
    this.#indexes = undefined
    if (this.#pins === 0 || this.#use !== 'followed') this.close()
  }

  /** Deletes the file once nobody has it pinned. If the process ends first, the next one deletes it. */
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

  /** Asynchronous, since freeing 64 MB takes the file system a while. */
  #unlink(): void {
    this.unload()
    unlink(this.path, () => {})
  }

  #assertOwn({ at, frame }: FrameAt): void {
    if (frame.ordinal !== this.ordinal)
      throw new SegmentFault(`${this.path} is damaged (byte ${at} belongs to another file)`)
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

  /** Reads the places from the index frame; if that is damaged, from all other frames. */
  #readIndexes(): readonly [RowIndex, RowIndex] {
    const file = this.#open()
    const indexAt = trailerIn(file, this.bytes)?.frameAt ?? this.bytes
    const last = framesFrom(file, indexAt, this.bytes, 'checked').next().value
    const of = (kind: RowKind): FrameRow | undefined =>
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

/** Adds the rows of a frame that begins at `frameAt`. */
function push(indexes: readonly [RowIndex, RowIndex], rows: readonly FrameRow[], frameAt: number): void {
  for (const { kind, key, at, bytes, checksum } of rows)
    if (kind === KIND.events || kind === KIND.redo) partOf(indexes, kind).push(key, frameAt + at, bytes, checksum)
}

/** Whether the frame's row about the log's state can be read: part of it may be missing while it is being written. */
function isHeadWhole({ frame, bytes }: FrameAt): boolean {
  return frame.rows.every((row) => row.kind !== KIND.head || rowMatches(bytes, row))
}

/** What a frame changes in the state of the log, if anything. */
export function changesIn({ frame, bytes }: FrameAt): Partial<LogState> | undefined {
  const row = frame.rows.find(({ kind }) => kind === KIND.head)
  return row && (JSON.parse(bytes.toString('utf8', row.at, row.at + row.bytes)) as Partial<LogState>)
}

let scratch = Buffer.allocUnsafeSlow(64 * 1024)

function scratchOf(bytes: number): Buffer {
  if (bytes > scratch.length) scratch = Buffer.allocUnsafeSlow(bytes)
  return scratch.subarray(0, bytes)
}
