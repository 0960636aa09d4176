/** A curve as Markdown: one row per series, one column per size, and how it grows. */
import { markdownTable } from '../markdown.ts'
import { short } from '../plot.ts'
import { number } from '../report.ts'
import { type Curve, growthPerDecade, type Point, type Series, shapeOf } from './curve.ts'

function cellOf(point: Point | undefined): string {
  if (point === undefined) return '-'
  const ratio = point.ratio === undefined ? '' : ` (x${point.ratio.toFixed(2)})`
  const beside = Object.entries(point.beside ?? {}).map(([name, value]) => `${name} ${number(value)}`)
  return [`${number(point.value)}${ratio}`, ...beside].join('; ')
}

function shapeCell({ points, exempt }: Series): string {
  const growth = growthPerDecade(points)
  const factor = Number.isNaN(growth) ? '' : `, x${growth.toFixed(2)} a decade`
  return exempt === undefined ? `${shapeOf(points)}${factor}` : `${exempt}${factor}`
}

export function curveReport(curve: Curve): string {
  const sizes = [...new Set(curve.series.flatMap(({ points }) => points.map(({ size }) => size)))].sort((a, b) => a - b)
  const rows = curve.series.map((series) => [
    series.name,
    ...sizes.map((size) => cellOf(series.points.find((point) => point.size === size))),
    shapeCell(series),
  ])
  const hasRatio = curve.series.some(({ points }) => points.some(({ ratio }) => ratio !== undefined))
  return [
    `### ${curve.title}`,
    '',
    markdownTable([curve.unit, ...sizes.map((size) => `${short(size)}`), 'shape'], rows),
    '',
    ...(hasRatio ? ['In parentheses: times what a nearly empty service cost in the same seconds.'] : []),
    ...curve.notes,
    ...curve.facts.map(({ what, value, unit }) => `- ${what}: ${number(value)} ${unit}`),
  ].join('\n')
}
