/**
 * Where the log is not in order of time, because a clock was set back. Retention removes events in log order and
 * entities by their time, so an entity may be gone while its events remain, held back by one recorded later.
 */

/** First and last sequence of consecutive events with an earlier time than some event before them. */
type Range = readonly [first: number, last: number]

/** @param recordedAt time of the event with that sequence, RFC 3339; undefined if it cannot be read. */
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
