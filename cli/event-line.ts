/** An event as a line for people: when, what, about which run, and its content. Works for any event, known or not. */
import type { Document } from './document.ts'
import { type Printer, safe, type Tint } from './print.ts'

const DETAIL_CHARS_MAX = 400
/** Wide enough for nearly every type. */
const TYPE_COLUMNS = 28

/** The most telling fields of a payload, in this order; the others follow, those with parts of their own last. */
const FIRST_FIELDS = [
  'state',
  'decision',
  'outcome',
  'status',
  'error',
  'objective',
  'reason',
  'code',
  'class',
  'message',
  'name',
  'key',
  'verdict',
  'summary',
]
/** Fields that only repeat what the line shows anyway. */
const SHOWN_ELSEWHERE = ['id', 'run_request_id', 'item_id', 'project', 'project_id', 'request_id', 'runner_request_id']

const TINTS: readonly (readonly [RegExp, Tint])[] = [
  [/_(failed|lost)$/, 'bad'],
  [/_(completed|landed)$/, 'good'],
  [/(cancel|offline|requeued|paused|escalated)/, 'warn'],
]

/** Fields that are pages long, or were in an event before: they would leave no room for others. `--json` has them. */
const LONG_FIELDS = ['prompt', 'run_result', 'gate_results']

/** Width of the time: continuation lines are indented by this much. */
const TIME_INDENT = ' '.repeat(11)

/** Prints events, each indented: on one line, or on as many as a narrow terminal needs. */
export function printEvents(events: readonly Document[], print: Printer, indent = ''): void {
  for (const event of events)
    for (const line of eventLines(event, print)) print.text(`${indent}${line}`, indent + TIME_INDENT)
}

/** The lines to print for an event: one, except for command output, which has one for each of its lines. */
export function eventLines(event: Document, print: Printer): string[] {
  const time = print.tint(clock(event.occurred_at), 'dim')
  const subject = safe(String(event.run_request_id ?? event.payload?.item_id ?? ''))
  if (event.event_type === 'run_output') {
    const mark = event.payload?.stream === 'stderr' ? print.tint('!', 'warn') : print.tint('|', 'dim')
    const lines = String(event.payload?.text ?? '')
      .replace(/\n$/, '')
      .split('\n')
    return lines.map((line) => `${time}  ${print.tint(subject, 'dim')} ${mark} ${safe(line)}`)
  }
  const type = String(event.event_type)
  const tint = TINTS.find(([pattern]) => pattern.test(type))?.[1]
  const parts = [
    time,
    print.tint(type.padEnd(TYPE_COLUMNS), tint),
    safe(String(event.project)),
    print.tint(subject, 'dim'),
    detailOf(event.payload),
    print.tint(personOf(event.by), 'dim'),
  ]
  return [
    parts
      .filter((part) => part !== '')
      .join('  ')
      .trimEnd(),
  ]
}

/** The person who caused it, by the name of their token: only what a person does states where it came from. */
function personOf(by: unknown): string {
  const { name, origin } = (by ?? {}) as Record<string, unknown>
  return origin === undefined ? '' : `by ${safe(String(name))}`
}

/** In UTC, as all times shown; with the date unless it is today's. */
function clock(time: unknown): string {
  const at = new Date(String(time))
  if (Number.isNaN(at.getTime())) return safe(String(time))
  const second = `${at.toISOString().slice(0, -'.000Z'.length)}Z`
  const today = `${new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)}T`
  return second.startsWith(today) ? second.slice(today.length) : second
}

/** The most telling fields of a payload on one line. */
export function detailOf(payload: unknown): string {
  if (typeof payload !== 'object' || payload === null) return ''
  const fields = payload as Record<string, unknown>
  const others = Object.keys(fields).filter((name) => !FIRST_FIELDS.includes(name))
  const names = [
    ...FIRST_FIELDS.filter((name) => name in fields),
    ...others.filter((name) => !hasParts(fields[name])),
    ...others.filter((name) => hasParts(fields[name])),
  ]
  const hidden = [...SHOWN_ELSEWHERE, ...LONG_FIELDS]
  const told = names.filter((name) => !hidden.includes(name) && !isEmpty(fields[name]))
  const words = told.map((name) => `${name}=${word(fields[name])}`)
  const text = safe(words.join(' '))
  return text.length > DETAIL_CHARS_MAX ? `${text.slice(0, DETAIL_CHARS_MAX)}…` : text
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Whether it is shown as JSON, which may take up most of the line. */
function hasParts(value: unknown): boolean {
  return typeof value === 'object' && /^[[{]/.test(word(value))
}

/** A plain text as it is, a list joined by commas, a person by name, and everything else as JSON. */
function word(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' && /^[^\s",=]+$/.test(one)))
    return value.join(',')
  if (isPerson(value)) return word(value.name)
  if (typeof value !== 'string') return JSON.stringify(value)
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}

function isPerson(value: unknown): value is { readonly name: string } {
  if (typeof value !== 'object' || value === null) return false
  const { id, name, ...rest } = value as Record<string, unknown>
  return typeof id === 'string' && typeof name === 'string' && Object.keys(rest).every((member) => member === 'origin')
}
