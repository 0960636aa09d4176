/** How a log stands, and what of it counts. */
import { KIND } from './frame.ts'
import type { Segment } from './segment.ts'

export type RowsOf = typeof KIND.events | typeof KIND.redo

/** A number for the events, and one for the redo. */
export type Both = readonly [events: number, redo: number]

/** As the first frame of a file says it; the other frames say what changes. */
export interface Standing {
  readonly head: Readonly<Record<string, string>>
  /** The first keys that are part of the log. */
  readonly from: Both
}

export interface Beginning extends Standing {
  /** The keys of the last rows before this file. */
  readonly after: Both
  /** The checksum of the trailer of the file before; 0 in the first. */
  readonly previous: number
}

/** What a reader sees: the log as it stood at one moment. */
export interface Sight {
  readonly segments: readonly Segment[]
  readonly head: ReadonlyMap<string, string>
  /** The first keys that are part of the log. */
  readonly from: Both
  /** The keys of the last rows; 0: there was none ever. */
  readonly last: Both
}

interface Begun {
  readonly beginning: Beginning
}

/** Whether a row that counts may be before this file. */
export function needsEarlier({ beginning: { after } }: Begun, from: Both): boolean {
  return after[0] >= from[0] || after[1] >= from[1]
}

/** Index of the first file that is needed. */
export function firstNeeded(segments: readonly Begun[], from: Both): number {
  let first = segments.length - 1
  while (first > 0 && needsEarlier(segments[first]!, from)) first -= 1
  return Math.max(0, first)
}

/** The one of the two that is of this kind. */
export const partOf = <V>(both: readonly [V, V], kind: RowsOf): V => (kind === KIND.events ? both[0] : both[1])

export function withPart([events, redo]: Both, kind: RowsOf, key: number): Both {
  return kind === KIND.events ? [key, redo] : [events, key]
}

/** Pins all of them, or none. Returns what lets them go, once. */
export function pinAll(segments: readonly Segment[]): () => void {
  const pinned: Segment[] = []
  const unpin = () => {
    for (const segment of pinned.splice(0)) segment.unpin()
  }
  try {
    for (const segment of segments) {
      segment.pin()
      pinned.push(segment)
    }
  } catch (error) {
    unpin()
    throw error
  }
  return unpin
}
