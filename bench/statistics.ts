/**
 * The few statistics that a benchmark may state. Machines drift, so a comparison is never a quotient of two medians,
 * but the median of the quotients of rounds that ran one after the other.
 */

/** The value at `fraction` (0 to 1) of the sorted samples, by nearest rank. NaN for no samples. */
export function quantile(samples: readonly number[], fraction: number): number {
  if (samples.length === 0) return Number.NaN
  const sorted = [...samples].sort((a, b) => a - b)
  const rank = Math.ceil(fraction * sorted.length) - 1
  return sorted[Math.min(Math.max(rank, 0), sorted.length - 1)]!
}

export function median(samples: readonly number[]): number {
  if (samples.length === 0) return Number.NaN
  const sorted = [...samples].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Median of measured[i] / limit[i], both taken in round i. */
export function medianOfRatios(measured: readonly number[], limit: readonly number[]): number {
  if (measured.length !== limit.length) throw new RangeError('rounds of unequal number')
  return median(measured.map((value, round) => value / limit[round]!))
}

/**
 * Runs the named measurements in turn, `rounds` times, in alternating order, so that a slow minute of the machine
 * affects all of them.
 * @returns the results of each measurement, by round.
 */
export async function interleave<R, K extends string>(
  rounds: number,
  measures: Readonly<Record<K, (round: number) => Promise<R>>>,
): Promise<Record<K, R[]>> {
  const names = Object.keys(measures) as K[]
  const results = Object.fromEntries(names.map((name) => [name, [] as R[]])) as Record<K, R[]>
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? names : [...names].reverse()
    for (const name of order) results[name].push(await measures[name](round))
  }
  return results
}
