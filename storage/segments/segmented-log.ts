/**
 * The log in append-only files. A transaction is one frame after the last, written and flushed in one call each.
 * Removal drops a prefix of the events or the redo, by raising the first key that counts; a file in which nothing
 * counts any more is unlinked. No free space is searched for, and nothing is overwritten except zeros written ahead
 * (tail.ts). A killed process leaves at most one unfinished, unacknowledged frame, at the end of the newest file.
 */
import { unlink } from 'node:fs'
import type { LogEnvironment, ReadTransaction } from '../environments.ts'
import { flushFile } from '../files/flush.ts'
import { hasFreeDescriptors } from '../files/free-descriptors.ts'
import { segmentPath, segmentsIn } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { FrameWriter, KIND } from './frame.ts'
import { Loaded } from './loaded.ts'
import {
  firstNeeded,
  type LogSnapshot,
  type LogState,
  needsEarlier,
  type PerKind,
  partOf,
  pinAll,
  type RowKind,
  type SegmentHeader,
  withPart,
} from './log-state.ts'
import { isGone, missing, openBefore, openIfThere, openNewest } from './opening.ts'
import { changesIn, Segment, SegmentFault, type Use } from './segment.ts'

/** Size up to which a file grows: what a start reads through, and what retention gives back at once. */
const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
/** Files open at once while the next file is begun: the file itself, and the folder, which is flushed. */
const FILES_TO_BEGIN = 2
/** How far a file may exceed its size while no other can be opened. Places in it are 32-bit numbers. */
const OVERFULL_BYTES_MAX = 1024 * 1024 * 1024
/** Attempts to read a log that is being written. */
const TRIES_MAX = 5
const WAY_BACK = 'put it back, or restore a backup'

interface Changes {
  readonly head: Record<string, string>
  from: PerKind
  last: PerKind
}

interface Snapshot extends LogSnapshot, ReadTransaction {}

export interface LogOptions {
  readonly readOnly: boolean
  /** For a reader that knows that nothing is removed meanwhile: files are open only while they are being read. */
  readonly isUndisturbed?: boolean
  /** When a file has reached this size, it is closed and the next one is begun. */
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
  #from: PerKind = [1, 1]
  #last: PerKind = [0, 0]
  /** Number of the last frame. */
  #number = 0
  /** Where the last frame begins in the newest file. */
  #lastFrameAt = 0
  /** Changes of the transaction under way. */
  #changes: Changes | undefined
  /** Ordinals of existing files in which nothing counts. */
  #needless: number[] = []
  #failure: unknown
  readonly #loaded = new Loaded()

  /** Opens or creates a log; read-only, an empty folder is an empty log. Throws HomeRefused `corrupt`, I/O errors. */
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

  /** The present state. */
  get snapshot(): LogSnapshot {
    return { segments: this.#segments, head: this.#head, from: this.#from, last: this.#last }
  }

  /** Bytes of all its files, without what follows the last whole frame. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0)
  }

  headOf(name: string): string | undefined {
    return this.#changes?.head[name] ?? this.#head.get(name)
  }

  putHead(name: string, text: string): void {
    this.#writing().head[name] = text
  }

  /** Adds a row after the last of its kind. Call within a transaction. */
  append(kind: RowKind, key: number, texts: readonly string[], between: string): void {
    const writing = this.#writing()
    if (key <= partOf(writing.last, kind)) throw new Error(`row ${key} is not after the last row of its table`)
    this.#frame.add(kind, key, texts, between)
    writing.last = withPart(writing.last, kind, key)
  }

  /** Drops the rows of the kind before this key from the log. Call within a transaction. */
  removeBefore(kind: RowKind, key: number): void {
    const writing = this.#writing()
    // Nothing after the last row can be removed.
    const before = Math.min(key, partOf(writing.last, kind) + 1)
    if (before > partOf(writing.from, kind)) writing.from = withPart(writing.from, kind, before)
  }

  transactionSync(write: () => void): void {
    if (this.#readOnly) throw new Error('this log was opened read-only')
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
    // The process that created the file may have been killed before its name was on disk.
    flushFile(this.#folder)
    for (const ordinal of this.#needless.splice(0)) unlink(segmentPath(this.#folder, ordinal), () => {})
  }

  /** A snapshot of the log, unaffected by later writes and removals. */
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

  /** Keeps a full file's row index in memory while it is in use. */
  used(segment: Segment): void {
    if (segment !== this.#segments.at(-1)) this.#loaded.used(segment)
  }

  async close(): Promise<void> {
    for (const segment of this.#segments) segment.close()
  }

  /** Copies its files as they are now into a folder, beside other work. Rejects with I/O errors, and when aborted. */
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

  /** Reads the whole log. Throws HomeRefused `corrupt` at the first frame that is not what was written. */
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
    const changed: Partial<LogState> = { head, ...(isMoved && { from }) }
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

  /** The file being written, or the next one if that is full. */
  #newest(): Segment {
    const newest = this.#segments.at(-1)
    if (newest !== undefined && !newest.isSealed && this.#hasRoom(newest)) return newest
    if (newest !== undefined && !newest.isSealed) {
      newest.seal(this.#number + 1)
      this.#number += 1
    }
    const header: SegmentHeader = {
      head: Object.fromEntries(this.#head),
      from: this.#from,
      after: this.#last,
      previous: newest?.trailer ?? 0,
    }
    const next = Segment.create(this.#folder, (newest?.ordinal ?? 0) + 1, this.#number + 1, header)
    this.#number += 1
    this.#segments = [...this.#segments, next]
    if (newest !== undefined) this.used(newest)
    return next
  }

  /** True if the file is not full, or if no next one can be begun because the limit of open files is reached. */
  #hasRoom({ bytes }: Segment): boolean {
    if (bytes < this.#segmentBytesMax) return true
    return bytes < this.#segmentBytesMax + OVERFULL_BYTES_MAX && !hasFreeDescriptors(this.#folder, FILES_TO_BEGIN)
  }

  /** Removes files in which nothing counts any more. */
  #drop(): void {
    const first = firstNeeded(this.#segments, this.#from)
    if (first === 0) return
    for (const segment of this.#segments.slice(0, first)) {
      this.#loaded.forget(segment)
      segment.remove()
    }
    this.#segments = this.#segments.slice(first)
  }

  /** Reads the log from the start. Files that its writer removes meanwhile are not needed by the next attempt. */
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

  /** Forgets everything read, so that the next attempt reads it again. */
  #letGo(): void {
    for (const segment of this.#segments) segment.unload()
    this.#segments = []
    this.#loaded.clear()
  }

  #read(): void {
    const ordinals = segmentsIn(this.#folder)
    const newest = openNewest(this.#folder, ordinals, this.#use)
    if (newest === undefined) return
    this.#take(newest, 'checked')
    // Go back as long as earlier files hold rows that count.
    while (ordinals.length > 0 && needsEarlier(this.#segments[0]!, this.#from))
      this.#segments.unshift(openBefore(this.#folder, this.#segments[0]!, ordinals.pop()!, this.#use))
    const first = this.#segments[0]!
    if (needsEarlier(first, this.#from) && first.ordinal > 1) throw missing(this.#folder, first.ordinal - 1)
    // Files that had been unlinked, but came back because of a kill or a power cut. They go once the frame that made
    // them needless is on disk.
    if (!this.#readOnly) this.#needless = ordinals
  }

  /** Adds the next newest file. The state of the log follows from its beginning and each of its frames. */
  #take(segment: Segment, rows: 'checked' | 'trusted'): void {
    const { head, from, after } = segment.header
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
        throw new SegmentFault(`${segment.path} is damaged (frame ${frame.number} follows frame ${this.#number})`)
      this.#number = frame.number
      this.#lastFrameAt = one.at
      for (const { kind, key } of frame.rows)
        if (kind === KIND.events || kind === KIND.redo) this.#last = withPart(this.#last, kind, key)
      const { head = {}, from } = changesIn(one) ?? {}
      for (const [name, text] of Object.entries(head)) this.#head.set(name, text)
      if (from !== undefined) this.#from = from
    })
    // The index frame has a number, too.
    if (segment.isSealed) this.#number += 1
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
      const next = behind[0] === full.ordinal + 1 ? openIfThere(this.#folder, behind[0], this.#use) : 'removed'
      // The next file was removed in the meantime.
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

function refusalOf(error: unknown): unknown {
  if (!(error instanceof SegmentFault)) return error
  return new HomeRefused('corrupt', `${error.message}: ${WAY_BACK}`, { cause: error })
}
