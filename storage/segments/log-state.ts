/** The state of a log, and which of its files count. */
import { KIND } from './frame.ts'
import type { Segment } from './segment.ts'

export type RowKind = typeof KIND.events | typeof KIND.redo

/** A number for the events, and one for the redo. */
export type PerKind = readonly [events: number, redo: number]

/** Recorded in full by the first frame of a file; the other frames record changes. */
export interface LogState {
  readonly head: Readonly<Record<string, string>>
  /** First keys that are part of the log. */
  readonly from: PerKind
}

export interface SegmentHeader extends LogState {
  /** Keys of the last rows before this file. */
  readonly after: PerKind
  /** Checksum of the previous file's trailer; 0 in the first file. */
  readonly previous: number
}

/** What a reader sees: the log at one moment. */
export interface LogSnapshot {
  readonly segments: readonly Segment[]
  readonly head: ReadonlyMap<string, string>
  /** First keys that are part of the log. */
  readonly from: PerKind
  /** Keys of the last rows; 0 if there has never been one. */
  readonly last: PerKind
}

interface WithHeader {
  readonly header: SegmentHeader
}

/** Whether rows that count may be in files before this one. */
export function needsEarlier({ header: { after } }: WithHeader, from: PerKind): boolean {
  return after[0] >= from[0] || after[1] >= from[1]
}

/** Index of the first file that is needed. */
export function firstNeeded(segments: readonly WithHeader[], from: PerKind): number {
  let first = segments.length - 1
  while (first > 0 && needsEarlier(segments[first]!, from)) first -= 1
  return Math.max(0, first)
}

/** The element for this kind. */
export const partOf = <V>(perKind: readonly [V, V], kind: RowKind): V =>
  kind === KIND.events ? perKind[0] : perKind[1]

export function withPart([events, redo]: PerKind, kind: RowKind, key: number): PerKind {
  return kind === KIND.events ? [key, redo] : [events, key]
}

/** Pins all of them, or none. Returns the function that unpins them, once. */
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
