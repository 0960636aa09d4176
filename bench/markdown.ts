/** Markdown that can be pasted into a document, and read as plain text before that. */

/** A table; columns of numbers are right-aligned. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const safe = (cell: string): string => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')
  const cells = [header, ...rows].map((row) => header.map((_, column) => safe(row[column] ?? '')))
  const widths = header.map((_, column) => Math.max(3, ...cells.map((row) => row[column]!.length)))
  const isRight = header.map((_, column) => rows.every((row) => /^[\d<>±.,% -]*$/.test(row[column] ?? '')))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => (isRight[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))).join(' | ')} |`
  const rule = widths.map((width, at) => (isRight[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [line(cells[0]!), `| ${rule.join(' | ')} |`, ...cells.slice(1).map(line)].join('\n')
}

/** From this many cores used by others on, a run counts as taken on a busy machine. */
const BUSY_CORES = 0.3

export function isBusy({ othersCores }: Readonly<Record<string, unknown>>): boolean {
  return Number(othersCores ?? 0) > BUSY_CORES
}

/** The line under each table: the machine, the date, the commit. */
export function provenance(about: Readonly<Record<string, unknown>>): string {
  const { cpu, cores, memoryBytes, kernel, node, commit, at, quick, othersCores } = about
  const gigabytes = Math.round(Number(memoryBytes) / 2 ** 30)
  const size = quick === true ? ', `--quick`' : ''
  const busy = isBusy(about)
    ? ` **Taken while others used ${othersCores} of these cores and the same disk: not to be relied on.**`
    : ''
  return `${cores} cores (${cpu}), ${gigabytes} GiB, Linux ${kernel}, Node.js ${node}; commit ${commit}, ${String(at).slice(0, 10)}${size}.${busy}`
}
