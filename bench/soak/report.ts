/** A soak as Markdown: its minutes, and whether its end was like its beginning. */
import { markdownTable, provenance } from '../markdown.ts'
import { number } from '../report.ts'
import { judge, type Minute } from './flatness.ts'

/** The stored results of one run. */
export interface SoakResults {
  readonly about: Readonly<Record<string, unknown>>
  readonly minutes: readonly Minute[]
}

const HEADER = [
  'minute',
  'cycles/s',
  'call p50 ms',
  'p99',
  'max',
  'cycle p50 ms',
  'p99',
  '503',
  'flush at most ms',
  'GC max ms',
  'CPU',
  'RSS MB',
  'private MB',
  'heap MB',
  'log MB',
  'view MB',
]

function cellsOf(minute: Minute): string[] {
  const mb = (bytes: number | undefined): string => (bytes === undefined ? '-' : `${Math.round(bytes / 1e6)}`)
  return [
    `${minute.minute}`,
    ...[minute.cyclesPerSecond, minute.callP50Ms, minute.callP99Ms, minute.callMaxMs].map(number),
    ...[minute.cycleP50Ms, minute.cycleP99Ms, minute.refused].map(number),
    ...[minute.longestFlushMs, minute.longestCollectionMs].map((ms) => (ms === undefined ? '-' : number(ms))),
    number(minute.serverCpu),
    ...[minute.rssBytes, minute.privateBytes, minute.heapBytes, minute.logBytes, minute.viewBytes].map(mb),
  ]
}

export function minuteLine(minute: Minute): string {
  const cells = cellsOf(minute)
  return HEADER.map((name, column) => `${name} ${cells[column]}`).join(', ')
}

/** Only for a run that was not cut short, since it judges the end. */
export function soakText({ about, minutes }: SoakResults): string {
  const { rate, peak, retentionSeconds } = about as Record<string, number | undefined>
  const rows = judge(minutes, rate!).map(({ what, first, last, unit, isFlat }) => [
    what,
    number(first),
    number(last),
    unit,
    isFlat ? 'flat' : 'NOT FLAT',
  ])
  return [
    `${number(rate!)} six-call cycles a second (${number(rate! / peak!)} of the peak of ${number(peak!)}, measured in the same service with retention at work), open loop, ${minutes.length} minutes, retention ${retentionSeconds} s.`,
    '',
    markdownTable(HEADER, minutes.map(cellsOf)),
    '',
    markdownTable(['', 'first third', 'last third', '', 'judgement'], rows),
    '',
    provenance(about),
  ].join('\n')
}
