/**
 * Where the log is not in the order of time: a clock was set back. Retention takes events in the order of the log and entities by
 * their time, so that what was made then may have gone before its events, which stay behind one that was recorded later.
 */

/** Sequences, from the first to the last, of events that were recorded before one that stands before them. */
type Range = readonly [first: number, last: number]

/** @param recordedAt of the event of that sequence, RFC 3339; undefined when it cannot be read. */
export function overtakenRanges(
  first: number,
  last: number,
  recordedAt: (sequence: number) => string | undefined,
): readonly Range[] {
  const ranges: [number, number][] = []
  let latest = ''
  for (let sequence = first; sequence <= last; sequence += 1) {
    const at = recordedAt(sequence)
    if (at === undefined) continue
    if (at >= latest) latest = at
    else if (ranges.at(-1)?.[1] === sequence - 1) ranges.at(-1)![1] = sequence
    else ranges.push([sequence, sequence])
  }
  return ranges
}
