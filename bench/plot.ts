/**
 * Draws a curve as an SVG file with two logarithmic axes: constant cost is a level line, cost proportional to size a
 * straight line upwards. Legible on white and black, in a browser and in a document.
 */

export interface Line {
  readonly name: string
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

export interface Plot {
  readonly title: string
  readonly xLabel: string
  readonly yLabel: string
  readonly lines: readonly Line[]
}

const WIDTH = 720
const PLOT_HEIGHT = 320
const LEFT = 72
const RIGHT = 24
const TOP = 44
const BOTTOM = 48
const LEGEND_ROW = 20
/** Distinguishable without red-green vision (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7f7f7f']
/** Labels of the value axis within a decade. */
const STEPS = [1, 2, 5]

/** 1,000 as 1k; 0.5 as 0.5. */
export function short(value: number): string {
  const units: [number, string][] = [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ]
  for (const [size, unit] of units) if (value >= size) return `${Number((value / size).toPrecision(3))}${unit}`
  return `${Number(value.toPrecision(3))}`
}

/** Labels of a logarithmic axis: each step of each decade that lies in [low, high]. */
export function ticks(low: number, high: number, steps: readonly number[]): number[] {
  const found: number[] = []
  for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade++)
    for (const step of steps) {
      const value = Number((step * 10 ** decade).toPrecision(3))
      if (value >= low && value <= high) found.push(value)
    }
  return found
}

function scale(low: number, high: number, from: number, to: number): (value: number) => number {
  const span = Math.log10(high / low) || 1
  return (value) => Number((from + (Math.log10(value / low) / span) * (to - from)).toFixed(1))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

function text(x: number, y: number, said: string, more = ''): string {
  return `<text x="${x}" y="${y}" ${more}>${escaped(said)}</text>`
}

/** @returns the SVG document. Points that are not above zero are left out. */
export function svg(plot: Plot): string {
  const lines = plot.lines.map(({ name, points }) => ({ name, points: points.filter(({ x, y }) => x > 0 && y > 0) }))
  const xs = lines.flatMap(({ points }) => points.map(({ x }) => x))
  const ys = lines.flatMap(({ points }) => points.map(({ y }) => y))
  const height = TOP + PLOT_HEIGHT + BOTTOM + LEGEND_ROW * Math.ceil(lines.length / 2)
  const bottom = TOP + PLOT_HEIGHT
  const [low, high] = [Math.min(...ys) / 1.6, Math.max(...ys) * 1.6]
  const atX = scale(Math.min(...xs), Math.max(...xs), LEFT, WIDTH - RIGHT)
  const atY = scale(low, high, bottom, TOP)
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" fill="#222">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text(LEFT, 24, plot.title, 'font-size="15"'),
    text((LEFT + WIDTH - RIGHT) / 2, bottom + 38, plot.xLabel, 'text-anchor="middle"'),
    text(
      18,
      TOP + PLOT_HEIGHT / 2,
      plot.yLabel,
      `text-anchor="middle" transform="rotate(-90 18 ${TOP + PLOT_HEIGHT / 2})"`,
    ),
  ]
  for (const value of ticks(low, high, STEPS)) {
    const y = atY(value)
    parts.push(`<path d="M${LEFT} ${y}H${WIDTH - RIGHT}" stroke="#ddd"/>`)
    parts.push(text(LEFT - 8, y + 4, short(value), 'text-anchor="end"'))
  }
  for (const value of ticks(Math.min(...xs), Math.max(...xs), [1])) {
    const x = atX(value)
    parts.push(`<path d="M${x} ${TOP}V${bottom}" stroke="#eee"/>`)
    parts.push(text(x, bottom + 18, short(value), 'text-anchor="middle"'))
  }
  lines.forEach((line, index) => {
    parts.push(
      ...drawn(line, COLOURS[index % COLOURS.length]!, atX, atY),
      ...legend(line.name, index, bottom + BOTTOM + 12),
    )
  })
  return `${parts.join('\n')}\n</svg>\n`
}

function drawn(line: Line, colour: string, atX: (x: number) => number, atY: (y: number) => number): string[] {
  const places = line.points.map(({ x, y }) => `${atX(x)},${atY(y)}`)
  return [
    `<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...line.points.map(({ x, y }) => `<circle cx="${atX(x)}" cy="${atY(y)}" r="3" fill="${colour}"/>`),
  ]
}

function legend(name: string, index: number, from: number): string[] {
  const x = LEFT + (index % 2) * ((WIDTH - LEFT - RIGHT) / 2)
  const y = from + Math.floor(index / 2) * LEGEND_ROW
  const colour = COLOURS[index % COLOURS.length]!
  return [`<path d="M${x} ${y}h20" stroke="${colour}" stroke-width="3"/>`, text(x + 28, y + 4, name)]
}
