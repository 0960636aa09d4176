/**
 * A cost against a size, point by point, and the judgement whether it grows. Where a small service was measured in the
 * same seconds, ratios to it are judged, since machines drift while homes are filled.
 */
import type { Plot } from '../plot.ts'

export interface Point {
  readonly size: number
  /** Plotted, in the series' unit. */
  readonly value: number
  /** Relative to a small service measured in the same seconds: the median of the rounds' ratios. */
  readonly ratio?: number
  /** Further columns of the table, by name. */
  readonly beside?: Readonly<Record<string, number>>
}

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
  /** Why the series need not be flat; it is then shown but not judged. */
  readonly exempt?: string
}

/** Something a size costs besides calls. */
export interface Fact {
  readonly what: string
  readonly value: number
  readonly unit: string
}

export interface Curve {
  readonly name: string
  readonly title: string
  readonly xLabel: string
  readonly unit: string
  readonly series: readonly Series[]
  readonly notes: readonly string[]
  readonly facts: readonly Fact[]
}

export type Shape = 'flat' | 'logarithmic' | 'GROWS' | 'too few points'

/** Up to this growth per tenfold size a series counts as flat: two equal runs may differ by as much. */
const FLAT_MAX = 1.08
/** A tree gains a level every two to three decades, each as costly as the last. */
const LOGARITHMIC_MAX = 1.3
/** Growth with size shows in the last decade first, while the constant part still hides it in the mean. */
const STEP_MAX = 1.6

const relative = ({ value, ratio }: Point): number => ratio ?? value

/** Mean factor per tenfold size, from the first point to the last. */
export function growthPerDecade(points: readonly Point[]): number {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || first === last) return Number.NaN
  return (relative(last) / relative(first)) ** (1 / Math.log10(last.size / first.size))
}

export function shapeOf(points: readonly Point[]): Shape {
  const growth = growthPerDecade(points)
  if (Number.isNaN(growth)) return 'too few points'
  for (let at = 1; at < points.length; at++)
    if (growthPerDecade([points[at - 1]!, points[at]!]) > STEP_MAX) return 'GROWS'
  if (growth <= FLAT_MAX) return 'flat'
  return growth <= LOGARITHMIC_MAX ? 'logarithmic' : 'GROWS'
}

/** Series that are not exempt, and neither flat nor logarithmic. */
export function growing({ series }: Curve): readonly Series[] {
  return series.filter(({ points, exempt }) => exempt === undefined && shapeOf(points) === 'GROWS')
}

export function plotOf(curve: Curve): Plot {
  return {
    title: curve.title,
    xLabel: curve.xLabel,
    yLabel: curve.unit,
    lines: curve.series.map(({ name, points }) => ({
      name,
      points: points.map(({ size, value }) => ({ x: size, y: value })),
    })),
  }
}
