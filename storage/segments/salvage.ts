/**
 * Reads what can still be read of a log with damaged or unreadable files: each file by itself, frame by frame,
 * skipping bytes that are not a frame. Only for exporting events (storage/log/event-source.ts): nothing is served from
 * it or written.
 */
import { closeSync, fstatSync, openSync } from 'node:fs'
import { HEAD_FLOOR, HEAD_LAST } from '../environments.ts'
import { readUpTo } from '../files/read-whole.ts'
import { segmentPath, segmentsIn } from '../home/home-paths.ts'
import type { EventRow } from '../log/event-rows.ts'
import { readFault } from '../read-fault.ts'
import { KIND, rowMatches } from './frame.ts'
import { type FrameAt, frameFrom, framesFrom } from './frames-in.ts'
import { changesIn } from './segment.ts'

/** The unit in which a disk returns data or fails to. */
const PAGE_BYTES = 4096

export interface UnreadFile {
  readonly path: string
  /** Message of the first error. */
  readonly detail: string
}

export class Salvage {
  readonly #folder: string
  /** Path -> message of the first error. */
  readonly #unread = new Map<string, string>()
  /** `<path> <page>` of unreadable pages, which are not tried again: a disk takes its time to fail. */
  readonly #pagesUnread = new Set<string>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Files that could not be read so far, or not completely. */
  get unread(): readonly UnreadFile[] {
    return [...this.#unread].map(([path, detail]) => ({ path, detail }))
  }

  /** The head according to the newest files that have any of it. An unfinished frame does not count. */
  head(): Readonly<Record<string, string>> {
    let head: Readonly<Record<string, string>> = {}
    for (const ordinal of segmentsIn(this.#folder).reverse()) {
      if (head[HEAD_LAST] !== undefined && head[HEAD_FLOOR] !== undefined) break
      const ofFile: Record<string, string> = {}
      for (const one of this.#framesOf(ordinal, 'checked')) Object.assign(ofFile, changesIn(one)?.head)
      head = { ...ofFile, ...head }
    }
    return head
  }

  /** The undamaged rows with events of sequences `from` to `to`, in order. */
  *rows(from: number, to: number): Generator<EventRow, void> {
    let next = from
    for (const ordinal of segmentsIn(this.#folder)) {
      for (const { frame, bytes } of this.#framesOf(ordinal, 'trusted')) {
        for (const row of frame.rows) {
          if (row.kind !== KIND.events || row.key > to || !rowMatches(bytes, row)) continue
          const texts = bytes.toString('utf8', row.at, row.at + row.bytes).split('\n')
          if (row.key + texts.length <= next) continue
          next = row.key + texts.length
          yield { first: row.key, texts }
        }
      }
    }
  }

  /** The frames written for this file, whatever lies between them. */
  *#framesOf(ordinal: number, rows: 'checked' | 'trusted'): Generator<FrameAt, void> {
    const path = segmentPath(this.#folder, ordinal)
    const file = this.#unlessUnread(path, () => openSync(path, 'r'))
    if (file === undefined) return
    const read = (from: number, into: Buffer, at: number) => this.#read(path, from, into, at)
    try {
      const { size } = fstatSync(file)
      for (let at: number | undefined = 0; at !== undefined; at = frameFrom(file, at + 1, size, read)) {
        for (const one of framesFrom(file, at, size, rows, read)) {
          at = one.at + one.frame.bytes
          if (one.frame.ordinal === ordinal) yield one
        }
      }
    } finally {
      closeSync(file)
    }
  }

  /** Like `readUpTo`, but page by page where a read fails. Unreadable pages become zeros, which no checksum accepts. */
  #read(path: string, file: number, into: Buffer, at: number): number {
    const whole = this.#unlessUnread(path, () => readUpTo(file, into, at))
    if (whole !== undefined) return whole
    for (let filled = 0; ; ) {
      const place = at + filled
      const page = Math.floor(place / PAGE_BYTES)
      const part = into.subarray(filled, filled + (page + 1) * PAGE_BYTES - place)
      const name = `${path} ${page}`
      const isUnread = this.#pagesUnread.has(name)
      const read = isUnread ? undefined : this.#unlessUnread(path, () => readUpTo(file, part, place))
      if (read === undefined) {
        this.#pagesUnread.add(name)
        part.fill(0)
      }
      filled += read ?? part.length
      if (filled === into.length || (read !== undefined && read < part.length)) return filled
    }
  }

  #unlessUnread<V>(path: string, use: () => V): V | undefined {
    try {
      return use()
    } catch (error) {
      if (readFault(error) !== 'damaged') throw error
      if (!this.#unread.has(path)) this.#unread.set(path, (error as Error).message)
      return undefined
    }
  }
}
