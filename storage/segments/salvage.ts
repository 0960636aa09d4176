/**
 * What can still be read of a log whose files are not what was written, or that the disk does not give: each file for itself, frame by
 * frame, and on behind what is none. For who takes events out (storage/log/event-source.ts): nothing is served from it, and nothing is written.
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

/** What a disk gives or does not give. */
const PAGE_BYTES = 4096

export interface UnreadFile {
  readonly path: string
  /** What the system said the first time. */
  readonly detail: string
}

export class Salvage {
  readonly #folder: string
  /** Path -> what the system said. */
  readonly #unread = new Map<string, string>()
  /** `<path> <page>`: a disk takes its time to say that it has nothing. */
  readonly #pagesUnread = new Set<string>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The files that the disk has not given so far, or not all of. */
  get unread(): readonly UnreadFile[] {
    return [...this.#unread].map(([path, detail]) => ({ path, detail }))
  }

  /** The head as the newest files have it that say something of it. A frame that was only begun to be written says nothing. */
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

  /** The rows that hold events from one sequence to another, in their order, without those that are not what was written. */
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

  /** Those that were written for this file, whatever is between them. */
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

  /** As `readUpTo`, page by page where the disk does not give them all: those that it does not give are zeros, which no checksum takes. */
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
