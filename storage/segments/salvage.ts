/**
 * What can still be read of a log whose files are not what was written: each file for itself, frame by frame, and on behind
 * what is none. For who takes events out (storage/event-source.ts): nothing is served from it, and nothing is written.
 */
import { closeSync, fstatSync, openSync } from 'node:fs'
import { HEAD_FLOOR, HEAD_LAST } from '../environments.ts'
import type { EventRow } from '../event-rows.ts'
import { segmentPath, segmentsIn } from '../home-paths.ts'
import { KIND, rowMatches } from './frame.ts'
import { type FrameAt, frameFrom, framesFrom } from './frames-in.ts'
import { changesIn } from './segment.ts'

/** The head as the newest files have it that say something of it. A frame that was only begun to be written says nothing. */
export function salvagedHead(folder: string): Readonly<Record<string, string>> {
  let head: Readonly<Record<string, string>> = {}
  for (const ordinal of segmentsIn(folder).reverse()) {
    if (head[HEAD_LAST] !== undefined && head[HEAD_FLOOR] !== undefined) break
    const ofFile: Record<string, string> = {}
    for (const one of framesOf(folder, ordinal, 'checked')) Object.assign(ofFile, changesIn(one)?.head)
    head = { ...ofFile, ...head }
  }
  return head
}

/** The rows that hold events from one sequence to another, in their order, without those that are not what was written. */
export function* salvagedRows(folder: string, from: number, to: number): Generator<EventRow, void> {
  let next = from
  for (const ordinal of segmentsIn(folder)) {
    for (const { frame, bytes } of framesOf(folder, ordinal, 'trusted')) {
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
function* framesOf(folder: string, ordinal: number, rows: 'checked' | 'trusted'): Generator<FrameAt, void> {
  const file = openSync(segmentPath(folder, ordinal), 'r')
  try {
    const { size } = fstatSync(file)
    for (let at: number | undefined = 0; at !== undefined; at = frameFrom(file, at + 1, size)) {
      for (const one of framesFrom(file, at, size, rows)) {
        at = one.at + one.frame.bytes
        if (one.frame.ordinal === ordinal) yield one
      }
    }
  } finally {
    closeSync(file)
  }
}
