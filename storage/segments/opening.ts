/**
 * Opens the files of a log one by one: the newest first, then those before it, each of which must end where the next
 * one says.
 */
import { segmentPath } from '../home/home-paths.ts'
import { Segment, SegmentFault, type Use } from './segment.ts'

/**
 * Opens the newest file or, if its creation was cut short, the one before it, which must then be full. Takes those tried
 * from `ordinals`; undefined if there is none.
 */
export function openNewest(folder: string, ordinals: number[], use: Use): Segment | undefined {
  const ordinal = ordinals.pop()
  if (ordinal === undefined) return undefined
  const newest = Segment.open(folder, ordinal, use)
  if (newest !== undefined) return newest
  const hasBefore = ordinals.pop() === ordinal - 1
  const before = hasBefore ? Segment.open(folder, ordinal - 1, use) : undefined
  if (before?.isSealed) return before
  before?.close()
  throw new SegmentFault(`${segmentPath(folder, ordinal)} does not begin like a log file`)
}

/** Opens the file before `next`, which must be this one. */
export function openBefore(folder: string, next: Segment, ordinal: number, use: Use): Segment {
  if (ordinal !== next.ordinal - 1) throw missing(folder, next.ordinal - 1)
  const segment = Segment.open(folder, ordinal, use)
  // In a log that another process writes it stays open, so that it can be read after its removal.
  if (use !== 'followed') segment?.unload()
  if (segment?.trailer !== undefined && segment.trailer === next.header.previous) return segment
  segment?.close()
  throw new SegmentFault(`${segmentPath(folder, ordinal)} does not end where the next file says`)
}

/** Undefined if its creation was cut short. */
export function openIfThere(folder: string, ordinal: number, use: Use): Segment | undefined | 'removed' {
  try {
    return Segment.open(folder, ordinal, use)
  } catch (error) {
    if (!isGone(error)) throw error
    return 'removed'
  }
}

export const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

export const missing = (folder: string, ordinal: number): SegmentFault =>
  new SegmentFault(`${segmentPath(folder, ordinal)} is missing`)
