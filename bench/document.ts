/**
 * `npm run bench:document`: writes the results in bench/results into BENCHMARKS.md, between its marks, and the curves
 * into docs/curves. A quiet machine beats a busy one, a full run a quick one, a newer run an older one. Only measured
 * numbers are written, and parts without results stay as they are.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { RESULTS, say, writeText } from './command.ts'
import { isBusy, markdownTable, provenance } from './markdown.ts'
import { type PeerResults, peersText } from './peers/report.ts'
import { svg } from './plot.ts'
import { type Finding, verdict } from './question.ts'
import { number } from './report.ts'
import { type Curve, plotOf } from './scale/curve.ts'
import { curveReport } from './scale/report.ts'
import { type Measures, sizingTable } from './sizing.ts'
import { type SoakResults, soakText } from './soak/report.ts'

const DOCUMENT = resolve('BENCHMARKS.md')
const CURVES = 'docs/curves'
const NOTHING = 'Not measured yet.'

interface Kept {
  readonly about: Readonly<Record<string, unknown>>
  readonly [more: string]: any
}

/** Results of one command, best first: a quiet machine before a busy one, full before quick, then newest first. */
function kept(name: RegExp): Kept[] {
  let files: string[] = []
  try {
    files = readdirSync(RESULTS).filter((file) => name.test(file))
  } catch {
    return []
  }
  const results: Kept[] = files.map((file) => JSON.parse(readFileSync(join(RESULTS, file), 'utf8')))
  const age = ({ about }: Kept): number => Date.parse(String(about.at))
  const lack = ({ about }: Kept): number => Number(isBusy(about)) * 2 + Number(about.quick ?? false)
  return results.sort((a, b) => lack(a) - lack(b) || age(b) - age(a))
}

interface From<V> {
  readonly about: Kept['about']
  readonly value: V
}

/** The best answer to each question, by name, since a run may have asked only some of them. */
function bestByName<V extends { readonly name: string }>(
  results: readonly Kept[],
  read: (result: Kept) => readonly V[],
) {
  const best = new Map<string, From<V>>()
  for (const result of results)
    for (const value of read(result)) if (!best.has(value.name)) best.set(value.name, { about: result.about, value })
  return best
}

/** Lists each machine and commit once. */
function provenances(froms: readonly From<unknown>[]): string {
  return [...new Set(froms.map(({ about }) => provenance(about)))].join('\n\n')
}

interface Answer {
  readonly name: string
  readonly findings: readonly Finding[]
}

function rowsText(answers: readonly From<Answer>[]): string {
  const findings = answers.flatMap(({ value }) => value.findings)
  if (findings.length === 0) return NOTHING
  const rows = findings.map((finding) => [
    finding.bar === undefined ? '' : `${finding.bar.row}`,
    finding.measure,
    `${number(finding.value)} ${finding.unit}`,
    finding.limit === undefined ? '' : `${number(finding.limit.value)} ${finding.limit.what}`,
    finding.ratio === undefined ? '' : number(finding.ratio),
    finding.bar === undefined ? '' : number(finding.bar.floor),
    finding.bar === undefined ? '' : number(finding.bar.goal),
    verdict(finding),
  ])
  const header = ['Row', 'Measure', 'Here', 'Limit of the same run', 'ratio', 'floor', 'goal', 'reached']
  return [markdownTable(header, rows), '', provenances(answers)].join('\n')
}

function scaleText(curves: readonly From<Curve>[]): string {
  if (curves.length === 0) return NOTHING
  const parts = curves.map(({ value }) => {
    const path = join(CURVES, `${value.name}.svg`)
    writeText(path, svg(plotOf(value)))
    return `${curveReport(value)}\n\n![${value.title}](${path})`
  })
  return [...parts, provenances(curves)].join('\n\n')
}

/** Value at the smallest size of the curve's series with this name. */
function smallest(curve: Curve | undefined, series: string): number | undefined {
  return curve?.series.find(({ name }) => name === series)?.points[0]?.value
}

function measuresOf(curves: ReadonlyMap<string, From<Curve>>, answers: ReadonlyMap<string, From<Answer>>): Measures {
  const fact = (curve: string): number | undefined => curves.get(curve)?.value.facts[0]?.value
  const events = curves.get('events')?.value.facts.find(({ what }) => what.startsWith('disk for each event'))
  const entities = curves.get('entities')?.value
  const measures = {
    callCpuUs: smallest(entities, 'a call of the six-call cycle'),
    pollCpuUs: smallest(entities, 'empty poll'),
    eventsPerSecond: answers.get('events-in')?.value.findings.find(({ measure }) => measure.includes('100 a post'))
      ?.value,
    bytesPerEvent: events?.value,
    heapPerParkedKb: fact('parked'),
    heapPerSubscriberKb: fact('watchers'),
  }
  return Object.fromEntries(Object.entries(measures).filter(([, value]) => value !== undefined))
}

function blocks(): Record<string, string> {
  const answers = bestByName<Answer>(kept(/^\d{4}-.*\.json$/), ({ answers }) => answers)
  const curves = bestByName<Curve>(kept(/^scale-\d.*\.json$/), ({ curves }) => curves)
  const [peers] = kept(/^peers-.*\.json$/)
  const [soak] = kept(/^soak-.*\.json$/)
    .filter(({ about, minutes }) => minutes.length === about.minutes)
    .sort((a, b) => Number(isBusy(a.about)) - Number(isBusy(b.about)) || b.minutes.length - a.minutes.length)
  return {
    rows: rowsText([...answers.values()]),
    peers: peers === undefined ? NOTHING : peersText(peers as unknown as PeerResults),
    scale: scaleText([...curves.values()]),
    soak: soak === undefined ? NOTHING : soakText(soak as unknown as SoakResults),
    sizing: curves.size === 0 ? NOTHING : sizingTable(measuresOf(curves, answers)),
  }
}

let text = readFileSync(DOCUMENT, 'utf8')
for (const [name, block] of Object.entries(blocks())) {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`BENCHMARKS.md has no place for ${name}`)
  if (block.startsWith(NOTHING)) {
    say(`${name}: no results`)
    continue
  }
  text = `${text.slice(0, from + begin.length)}\n${block}\n${text.slice(to)}`
  say(`${name}: written`)
}
writeText(DOCUMENT, text)
