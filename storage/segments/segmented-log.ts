/**
 * The log in files that are written at their end: a transaction is one frame behind the last, written at once and flushed by one call. What is
 * removed is a prefix of the events or of the redo, by moving the first key that counts; a file of which nothing counts any more is unlinked.
 * Nothing is searched for room, and nothing is written over but zeros of its own (tail.ts). A process that is killed leaves at
 * most one frame that was begun and never acknowledged, at the end of the newest file.
 */
import { unlink } from 'node:fs'
import type { LogEnvironment, ReadTransaction } from '../environments.ts'
import { flushFile } from '../files/flush.ts'
import { mayOpen } from '../files/may-open.ts'
import { segmentPath, segmentsIn } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { FrameWriter, KIND } from './frame.ts'
import { Loaded } from './loaded.ts'
import { changesIn, Segment, SegmentFault, type Use } from './segment.ts'
import {
  type Beginning,
  type Both,
  firstNeeded,
  needsEarlier,
  partOf,
  pinAll,
  type RowsOf,
  type Sight,
  type Standing,
  withPart,
} from './standing.ts'

/** What a start reads through, and what retention gives back at once. */
const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
/** Open at once while a next file is begun: itself, and the folder, which is flushed. */
const FILES_TO_BEGIN = 2
/** So much longer than it should be a file gets while no other can be opened: places in it are numbers of 32 bits. */
const OVERFULL_BYTES_MAX = 1024 * 1024 * 1024
/** Looks at a log that is being written. */
const TRIES_MAX = 5
const WAY_BACK = 'put it back, or restore a backup'

interface Changes {
  readonly head: Record<string, string>
  from: Both
  last: Both
}

interface Snapshot extends Sight, ReadTransaction {}

export interface LogOptions {
  readonly readOnly: boolean
  /** Opened for reading by who knows that nothing is removed while it reads: its files are open only as long as they are asked for. */
  readonly isUndisturbed?: boolean
  /** A file that has reached this size is closed, and the next one begun. */
  readonly segmentBytesMax?: number | undefined
}

export class SegmentedLog implements LogEnvironment {
  readonly #folder: string
  readonly #readOnly: boolean
  readonly #use: Use
  readonly #segmentBytesMax: number
  readonly #frame = new FrameWriter()
  #segments: Segment[] = []
  #head = new Map<string, string>()
  #from: Both = [1, 1]
  #last: Both = [0, 0]
  /** Numbers of frames: the last one's. */
  #number = 0
  /** Where the last frame begins in the newest file. */
  #lastFrameAt = 0
  /** What the transaction under way changes. */
  #changes: Changes | undefined
  /** Files that are there and of which nothing counts. */
  #needless: number[] = []
  #failure: unknown
  readonly #loaded = new Loaded()

  /** Opens the log of a folder, or makes it; opened for reading, an empty folder is an empty log. Throws HomeRefused `corrupt`, and what the file system throws. */
  constructor(folder: string, { readOnly, isUndisturbed = false, segmentBytesMax = SEGMENT_BYTES_MAX }: LogOptions) {
    this.#folder = folder
    this.#readOnly = readOnly
    this.#use = useOf(readOnly, isUndisturbed)
    this.#segmentBytesMax = segmentBytesMax
    try {
      this.#readAnew()
      if (!readOnly && this.#segments.length === 0) this.#newest()
    } catch (error) {
      void this.close()
      throw refusalOf(error)
    }
  }

  /** What is there now. */
  get sight(): Sight {
    return { segments: this.#segments, head: this.#head, from: this.#from, last: this.#last }
  }

  /** Bytes of all its files, as far as they count. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0)
  }

  headOf(name: string): string | undefined {
    return this.#changes?.head[name] ?? this.#head.get(name)
  }

  putHead(name: string, text: string): void {
    this.#writing().head[name] = text
  }

  /** Puts a row behind the last of its kind, within a transaction. */
  append(kind: RowsOf, key: number, texts: readonly string[], between: string): void {
    const writing = this.#writing()
    if (key <= partOf(writing.last, kind)) throw new Error(`row ${key} is not behind the last row of its table`)
    this.#frame.add(kind, key, texts, between)
    writing.last = withPart(writing.last, kind, key)
  }

  /** The rows of the kind before this key are no part of the log from now on, within a transaction. */
  removeBefore(kind: RowsOf, key: number): void {
    const writing = this.#writing()
    // What comes behind the last row is not there to be removed.
    const before = Math.min(key, partOf(writing.last, kind) + 1)
    if (before > partOf(writing.from, kind)) writing.from = withPart(writing.from, kind, before)
  }

  transactionSync(write: () => void): void {
    if (this.#readOnly) throw new Error('this log was opened for reading')
    if (this.#failure !== undefined) throw this.#failure
    const changes: Changes = { head: {}, from: this.#from, last: this.#last }
    this.#changes = changes
    this.#frame.begin()
    try {
      write()
    } finally {
      this.#changes = undefined
    }
    try {
      this.#commit(changes)
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  sync(): void {
    const newest = this.#segments.at(-1)
    if (newest === undefined) return
    if (!this.#readOnly) newest.cut()
    newest.rewrite(this.#lastFrameAt, this.#number)
    // The process that made the file may have been killed before its name was on disk.
    flushFile(this.#folder)
    for (const ordinal of this.#needless.splice(0)) unlink(segmentPath(this.#folder, ordinal), () => {})
  }

  /** The log as it is now, whatever is written and removed from here on. */
  useReadTransaction(): Snapshot {
    const segments = [...this.#segments]
    return { segments, head: new Map(this.#head), from: this.#from, last: this.#last, done: pinAll(segments) }
  }

  refresh(): void {
    if (!this.#readOnly) return
    try {
      this.#follow()
    } catch (error) {
      this.#letGo()
      throw refusalOf(error)
    }
  }

  /** A full file's places of rows are in memory while they are asked for. */
  used(segment: Segment): void {
    if (segment !== this.#segments.at(-1)) this.#loaded.used(segment)
  }

  async close(): Promise<void> {
    for (const segment of this.#segments) segment.close()
  }

  /** Copies its files as they are now into a folder, beside other work. Rejects with what the file system says, and when it is aborted. */
  async copyTo(folder: string, signal?: AbortSignal): Promise<void> {
    const { segments, done } = this.useReadTransaction()
    const lengths = segments.map(({ bytes }) => bytes)
    try {
      for (const [i, segment] of segments.entries())
        await segment.copyTo(segmentPath(folder, segment.ordinal), lengths[i]!, signal)
    } finally {
      done()
    }
  }

  /** Reads all of it. Throws HomeRefused `corrupt` at the first frame that is not what was written. */
  assertEvery(): void {
    try {
      for (const segment of this.#segments) {
        segment.assertEvery()
        if (this.#use !== 'followed' && segment !== this.#segments.at(-1)) this.#loaded.unload(segment)
      }
    } catch (error) {
      throw refusalOf(error)
    }
  }

  #writing(): Changes {
    if (this.#changes === undefined) throw new Error('the log is written within a transaction')
    return this.#changes
  }

  #commit({ head, from, last }: Changes): void {
    const newest = this.#newest()
    const isMoved = from !== this.#from
    const changed: Partial<Standing> = { head, ...(isMoved && { from }) }
    this.#frame.add(KIND.head, 0, [JSON.stringify(changed)])
    const bytes = this.#frame.finish(this.#number + 1, newest.ordinal)
    newest.append(bytes)
    this.#lastFrameAt = newest.bytes
    newest.added({ bytes: bytes.length, rows: this.#frame.rows })
    this.#number += 1
    this.#last = last
    for (const [name, text] of Object.entries(head)) this.#head.set(name, text)
    if (isMoved) {
      this.#from = from
      this.#drop()
    }
  }

  /** The file that is written. */
  #newest(): Segment {
    const newest = this.#segments.at(-1)
    if (newest !== undefined && !newest.isSealed && this.#hasRoom(newest)) return newest
    if (newest !== undefined && !newest.isSealed) {
      newest.seal(this.#number + 1)
      this.#number += 1
    }
    const beginning: Beginning = {
      head: Object.fromEntries(this.#head),
      from: this.#from,
      after: this.#last,
      previous: newest?.trailer ?? 0,
    }
    const next = Segment.create(this.#folder, (newest?.ordinal ?? 0) + 1, this.#number + 1, beginning)
    this.#number += 1
    this.#segments = [...this.#segments, next]
    if (newest !== undefined) this.used(newest)
    return next
  }

  /** It is not full, or no next one can be begun: there are as many files open as there may be. */
  #hasRoom({ bytes }: Segment): boolean {
    if (bytes < this.#segmentBytesMax) return true
    return bytes < this.#segmentBytesMax + OVERFULL_BYTES_MAX && !mayOpen(this.#folder, FILES_TO_BEGIN)
  }

  /** Files in which nothing counts any more go. */
  #drop(): void {
    const first = firstNeeded(this.#segments, this.#from)
    if (first === 0) return
    for (const segment of this.#segments.slice(0, first)) {
      this.#loaded.forget(segment)
      segment.remove()
    }
    this.#segments = this.#segments.slice(first)
  }

  /** What its writer removes in the midst of it is not needed when it is begun anew. */
  #readAnew(): void {
    for (let tries = 1; ; tries += 1) {
      this.#letGo()
      try {
        this.#read()
        return
      } catch (error) {
        if (!this.#readOnly || tries === TRIES_MAX || !isGone(error)) throw error
      }
    }
  }

  /** What was taken in is taken in anew by the next look. */
  #letGo(): void {
    for (const segment of this.#segments) segment.unload()
    this.#segments = []
    this.#loaded.clear()
  }

  #read(): void {
    const ordinals = segmentsIn(this.#folder)
    const newest = this.#openNewest(ordinals)
    if (newest === undefined) return
    this.#take(newest, 'checked')
    // Backwards while there is something in it that counts.
    while (ordinals.length > 0 && needsEarlier(this.#segments[0]!, this.#from)) this.#openBefore(ordinals.pop()!)
    const first = this.#segments[0]!
    if (needsEarlier(first, this.#from) && first.ordinal > 1) throw missing(this.#folder, first.ordinal - 1)
    // What a process that was killed, or the power, left of files that had been unlinked. They go when the frame is on disk
    // that made them needless.
    if (!this.#readOnly) this.#needless = ordinals
  }

  /** The newest file. One whose making was cut short says nothing; it was made because the one before was full. */
  #openNewest(ordinals: number[]): Segment | undefined {
    const ordinal = ordinals.pop()
    if (ordinal === undefined) return undefined
    const newest = Segment.open(this.#folder, ordinal, this.#use)
    if (newest !== undefined) return newest
    const hasBefore = ordinals.pop() === ordinal - 1
    const before = hasBefore ? Segment.open(this.#folder, ordinal - 1, this.#use) : undefined
    if (before?.isSealed) return before
    before?.close()
    throw new SegmentFault(`${segmentPath(this.#folder, ordinal)} does not begin as a file of the log does`)
  }

  #openBefore(ordinal: number): void {
    const next = this.#segments[0]!
    if (ordinal !== next.ordinal - 1) throw missing(this.#folder, next.ordinal - 1)
    const segment = Segment.open(this.#folder, ordinal, this.#use)
    if (segment !== undefined) this.#segments.unshift(segment)
    // Of a log that another process writes it stays open, so that it can be read when it was removed.
    if (this.#use !== 'followed') segment?.unload()
    if (segment?.trailer === undefined || segment.trailer !== next.beginning.previous)
      throw new SegmentFault(`${segmentPath(this.#folder, ordinal)} does not end as the file behind it says`)
  }

  /** The next newest file: how the log stands is what its beginning says, and each of its frames. */
  #take(segment: Segment, rows: 'checked' | 'trusted'): void {
    const { head, from, after } = segment.beginning
    this.#segments = [...this.#segments, segment]
    this.#head = new Map(Object.entries(head))
    this.#from = from
    this.#last = after
    this.#number = segment.number
    this.#lastFrameAt = 0
    this.#followIn(segment, rows)
  }

  #followIn(segment: Segment, rows: 'checked' | 'trusted'): void {
    segment.follow(rows, (one) => {
      const { frame } = one
      if (frame.number !== this.#number + 1)
        throw new SegmentFault(`${segment.path} is damaged (frame ${frame.number} is behind frame ${this.#number})`)
      this.#number = frame.number
      this.#lastFrameAt = one.at
      for (const { kind, key } of frame.rows)
        if (kind === KIND.events || kind === KIND.redo) this.#last = withPart(this.#last, kind, key)
      const { head = {}, from } = changesIn(one) ?? {}
      for (const [name, text] of Object.entries(head)) this.#head.set(name, text)
      if (from !== undefined) this.#from = from
    })
    // The frame that says where its rows are has a number, too.
    if (segment.isSealed) this.#number += 1
  }

  #openIfThere(ordinal: number): Segment | undefined | 'removed' {
    try {
      return Segment.open(this.#folder, ordinal, this.#use)
    } catch (error) {
      if (!isGone(error)) throw error
      return 'removed'
    }
  }

  #follow(): void {
    let newest = this.#segments.at(-1)
    if (newest === undefined) {
      this.#readAnew()
      return
    }
    if (!newest.isSealed) this.#followIn(newest, 'trusted')
    while (newest.isSealed) {
      const full: Segment = newest
      const behind = segmentsIn(this.#folder).filter((ordinal) => ordinal > full.ordinal)
      if (behind.length === 0) break
      const next = behind[0] === full.ordinal + 1 ? this.#openIfThere(behind[0]) : 'removed'
      // What came next was removed in the meantime.
      if (next === 'removed') {
        this.#readAnew()
        return
      }
      if (next === undefined) break
      this.#take(next, 'trusted')
      this.used(full)
      newest = next
    }
    const first = firstNeeded(this.#segments, this.#from)
    for (const segment of this.#segments.slice(0, first)) this.#loaded.unload(segment)
    this.#segments = this.#segments.slice(first)
  }
}

function useOf(readOnly: boolean, isUndisturbed: boolean): Use {
  if (!readOnly) return 'written'
  return isUndisturbed ? 'undisturbed' : 'followed'
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

const missing = (folder: string, ordinal: number) => new SegmentFault(`${segmentPath(folder, ordinal)} is missing`)

function refusalOf(error: unknown): unknown {
  if (!(error instanceof SegmentFault)) return error
  return new HomeRefused('corrupt', `${error.message}: ${WAY_BACK}`, { cause: error })
}
