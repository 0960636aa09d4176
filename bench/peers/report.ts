/** The results of the peers as Markdown: one table of all systems, the goals, and a plain statement of durability. */
import { markdownTable, provenance } from '../markdown.ts'
import { type Bar, type Finding, verdict } from '../question.ts'
import { number } from '../report.ts'
import { median, medianOfRatios } from '../statistics.ts'
import type { PeerResult } from './client.ts'

export interface Measured {
  readonly name: string
  readonly server: string
  readonly version: string
  readonly setting: string
  readonly usage: string
  readonly bar?: Bar
  /** Results of each round, by number of clients; undefined for a round that failed. */
  readonly rounds: Readonly<Record<number, readonly (PeerResult | undefined)[]>>
  /** Flushes per cycle, by number of clients; absent if not counted. */
  readonly flushes: Readonly<Record<number, number>>
  readonly failure?: string
}

/** The stored results of one run. */
export interface PeerResults {
  readonly about: Readonly<Record<string, unknown>>
  readonly clients: readonly number[]
  /** A flush of 512 bytes, measured before and after. */
  readonly flushP50Ms: number
  readonly measured: readonly Measured[]
  /** Systems that were left out, each with the reason. */
  readonly notRun: readonly string[]
}

/** The number of clients at which costs are compared and goals set. */
export const MANY = 64
/** If a lone client causes fewer flushes per cycle than this, most answers come before anything is on disk. */
const FLUSHES_MIN = 0.5

function taken(system: Measured, clients: number): readonly PeerResult[] {
  return (system.rounds[clients] ?? []).filter((result) => result !== undefined)
}

function medianOf(system: Measured, clients: number, read: (result: PeerResult) => number): number {
  return median(taken(system, clients).map(read))
}

export function rate(system: Measured, clients: number): number {
  return medianOf(system, clients, (result) => result.cyclesPerSecond)
}

/** Median and range of the rounds. */
function rateCell(system: Measured, clients: number): string {
  const rates = taken(system, clients).map((result) => result.cyclesPerSecond)
  if (rates.length === 0) return '-'
  return `${number(median(rates))} (${number(Math.min(...rates))} to ${number(Math.max(...rates))})`
}

/** Our rate over theirs, round by round: only results of the same minute are compared. */
export function ratio(ours: Measured, theirs: Measured, clients: number): number {
  const pairs = (ours.rounds[clients] ?? []).map((own, round) => [own, theirs.rounds[clients]?.[round]] as const)
  const both = pairs.filter(([own, other]) => own !== undefined && other !== undefined)
  return medianOfRatios(
    both.map(([own]) => own!.cyclesPerSecond),
    both.map(([, other]) => other!.cyclesPerSecond),
  )
}

/** What must be said of a system's durability beside its number. */
export function plainWord(system: Measured): string {
  const alone = system.flushes[1]
  if (alone === undefined) return 'flushes not counted'
  if (alone < 0.05) return '**does not flush before it answers**'
  if (alone < FLUSHES_MIN) return '**answers mostly before it flushes**'
  if (alone < 1.5) return 'flushes one of the three steps'
  if (alone < 2.5) return 'flushes two of the three steps'
  return 'flushes each step'
}

export function mainTable(systems: readonly Measured[], clients: readonly number[]): string {
  const header = [
    'System',
    ...clients.map((count) => (count === 1 ? '1 client, cycles/s' : `${count} clients`)),
    `p50 / p99 ms (${MANY})`,
    `server CPU, us a cycle (${MANY})`,
    'client CPU',
    `flushes a cycle (1 / ${MANY})`,
    'durability, measured',
    'version and setting',
  ]
  const rows = systems.map((system) => [
    system.name,
    ...clients.map((count) => (system.failure === undefined ? rateCell(system, count) : 'failed')),
    `${number(medianOf(system, MANY, (r) => r.p50Ms))} / ${number(medianOf(system, MANY, (r) => r.p99Ms))}`,
    number(medianOf(system, MANY, (r) => r.serverCpuUsPerCycle)),
    number(medianOf(system, MANY, (r) => r.clientCpuUsPerCycle)),
    [1, MANY].map((count) => flushCell(system.flushes[count])).join(' / '),
    plainWord(system),
    `${system.server} ${system.version}, ${system.setting}; ${system.usage}`,
  ])
  return markdownTable(header, rows)
}

function flushCell(flushes: number | undefined): string {
  return flushes === undefined ? '-' : flushes.toFixed(2)
}

/** Ours is the first. Other systems on our server are ours too, and no peers. */
function sidesOf({ measured }: Pick<PeerResults, 'measured'>): { readonly ours: Measured; readonly peers: Measured[] } {
  const ours = measured[0]!
  return { ours, peers: measured.filter(({ server }) => server !== ours.server) }
}

export function goalFindings(results: Pick<PeerResults, 'measured'>): Finding[] {
  const { ours, peers } = sidesOf(results)
  return peers
    .filter((system) => system.bar !== undefined && system.failure === undefined)
    .map((system) => ({
      measure: `three-call cycle, ${MANY} clients, against ${system.name}`,
      value: rate(ours, MANY),
      unit: 'cycles/s',
      limit: { what: system.name, value: rate(system, MANY) },
      ratio: ratio(ours, system, MANY),
      better: 'higher' as const,
      bar: system.bar!,
      note: plainWord(system),
    }))
}

export function goalTable(findings: readonly Finding[]): string {
  const rows = findings.map((finding) => [
    `${finding.bar!.row}`,
    finding.limit!.what,
    number(finding.ratio!),
    number(finding.bar!.floor),
    number(finding.bar!.goal),
    verdict(finding),
    finding.note ?? '',
  ])
  return markdownTable(['Row', 'Ours over', 'ratio', 'floor', 'goal', 'reached', 'durability of the peer'], rows)
}

/** The systems that are faster than ours at each number of clients, with their durability. */
export function lostTo(results: Pick<PeerResults, 'measured' | 'clients'>): string[] {
  const { ours, peers } = sidesOf(results)
  const lines: string[] = []
  for (const count of results.clients) {
    const faster = peers
      .map((system) => ({ system, factor: 1 / ratio(ours, system, count) }))
      .filter(({ factor }) => factor > 1)
      .sort((a, b) => b.factor - a.factor)
    const said = faster.map(
      ({ system, factor }) => `${system.name} ${number(factor)} times (${plainWord(system).replaceAll('*', '')})`,
    )
    const who = count === 1 ? 'One client alone' : `${count} clients`
    lines.push(
      `- ${who}: ${said.length === 0 ? 'nobody is faster than ours' : `faster than ours: ${said.join('; ')}`}.`,
    )
  }
  return lines
}

/** The whole report, as printed and as put into the documentation. */
export function peersText(results: PeerResults): string {
  const { about, clients, flushP50Ms, measured, notRun } = results
  const isCounted = measured.some(({ flushes }) => flushes[1] !== undefined)
  return [
    mainTable(measured, clients),
    '',
    `Medians of ${about.rounds} interleaved rounds of ${number(Number(about.durationMs) / 1000)} s, and the slowest and fastest of them. A flush of this disk (512 B over zeros, fdatasync) took ${number(flushP50Ms)} ms.`,
    isCounted
      ? 'Flushes were counted by strace in runs of their own, which slows what has many clients; with one client they are exact.'
      : 'Flushes were not counted: strace is not installed.',
    `Not run: ${notRun.length === 0 ? 'none' : notRun.join(', ')}.`,
    '',
    goalTable(goalFindings(results)),
    '',
    ...lostTo(results),
    '',
    provenance(about),
  ].join('\n')
}
