/** The two forms of the answers: a table to read and a JSON file to keep. Both name the machine. */
import { execFileSync } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { writeJson } from './command.ts'
import { type Finding, verdict } from './question.ts'

export interface Answered {
  readonly name: string
  readonly asks: string
  readonly seconds: number
  readonly findings: readonly Finding[]
  /** Why there is no answer. */
  readonly failure?: string
}

/** Three significant digits or more: 12,345 · 3.21 · 0.004. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return Number(value.toPrecision(3)).toString()
}

const COLUMNS = ['measure', 'value', 'limit of the same run', 'ratio', 'floor', 'goal', ''] as const

function cells(finding: Finding): string[] {
  const { limit, ratio, bar } = finding
  return [
    finding.measure,
    `${number(finding.value)} ${finding.unit}`,
    limit === undefined ? '' : `${number(limit.value)} ${limit.what}`,
    ratio === undefined ? '' : number(ratio),
    bar === undefined ? '' : number(bar.floor),
    bar === undefined ? '' : number(bar.goal),
    verdict(finding),
  ]
}

/** The findings of one question as lines of text, each note under its line. */
export function table(findings: readonly Finding[]): string {
  const rows = [[...COLUMNS], ...findings.map(cells)]
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 || column === 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  const lines = [
    line(rows[0]!),
    widths
      .map((width) => '-'.repeat(width))
      .join('  ')
      .trimEnd(),
  ]
  findings.forEach((finding, index) => {
    lines.push(line(rows[index + 1]!))
    if (finding.note !== undefined) lines.push(`    ${finding.note}`)
  })
  return lines.join('\n')
}

function commit(): string {
  try {
    const head = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const dirty = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' }) !== ''
    return head.trim() + (dirty ? ' with changes' : '')
  } catch {
    return 'unknown'
  }
}

/** The machine, without which a number means nothing. */
export function machine(directory: string): Record<string, string | number> {
  const processors = cpus()
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    fileSystemType: `0x${statfsSync(directory).type.toString(16)}`,
    commit: commit(),
    at: new Date().toISOString(),
  }
}

export function writeResults(path: string, about: object, answered: readonly Answered[]): void {
  const answers = answered.map((answer) => ({
    ...answer,
    findings: answer.findings.map((finding) => ({ ...finding, verdict: verdict(finding) })),
  }))
  writeJson(path, { about, answers })
}
