/** How the console writes things: ages, texts of strangers, names of members, and where an id leads. */

import { linesOf, visible } from '../machines/untrusted-text.ts'
import type { Document } from './document.ts'
import { hrefOf } from './place.ts'

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const

/** `3h 12m`: the two largest units of the time since then. Times that lie ahead: `in 5m`. */
export function ageOf(time: string, nowMs: number): string {
  const seconds = Math.round((nowMs - Date.parse(time)) / 1_000)
  return seconds < 0 ? `in ${durationOf(-seconds)}` : durationOf(seconds)
}

function durationOf(seconds: number): string {
  const at = UNITS.findIndex(([, size]) => seconds >= size)
  if (at < 0) return `${seconds}s`
  const [unit, size] = UNITS[at]!
  const [smaller, smallerSize] = UNITS[at + 1] ?? ['s', 1]
  const rest = Math.floor((seconds % size) / smallerSize)
  return `${Math.floor(seconds / size)}${unit}${rest === 0 ? '' : ` ${rest}${smaller}`}`
}

/** `2026-11-26 21:40:05`, in UTC: a fleet and its operators are in many zones. */
export function momentOf(time: string): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ')
}

/** `not_before` reads `not before`. */
export function wordsOf(name: string): string {
  return name.replaceAll('_', ' ')
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** What is said of an item, with where its work is kept if that has not landed. */
export function withKept(said: string, disposition: Document | undefined): string {
  const kept = disposition?.preservation_ref
  return kept === undefined ? said : `${said} (kept: ${kept})`
}

/** The text, or as much of it as there is room for. */
export function beginningOf(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)} …` : text
}

/** The last lines of the text for which there is room; of a line that is longer, its end. */
export function endOf(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  const end = text.slice(-lengthMax)
  return end.slice(end.indexOf('\n') + 1) || end
}

/** The text with what is invisible in it, or changes the order in which it is read, written out: `\u{202e}`. */
export function readable(text: string): string {
  return linesOf(text).map(visible).join('\n')
}

/** Colours and other sequences for terminals; titles and links end with BEL or with ESC and a backslash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with it
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g
/** Control characters other than tabs and line ends. */
const CONTROLS = /(?![\t\n\r])\p{Cc}/gu

/** What a program has printed for a terminal, as text. */
export function printed(text: string): string {
  return readable(text.replaceAll(ESCAPES, '').replaceAll(CONTROLS, ''))
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** Whether it is a moment that exists: payloads hold whatever somebody has written. */
export function isTime(text: string): boolean {
  return TIME.test(text) && !Number.isNaN(Date.parse(text))
}

const STATE = /^[a-z]+(_[a-z]+)*$/

/** Whether it may be the name of a state: members of that name can also hold prose. */
export function isState(text: string): boolean {
  return STATE.test(text) && text.length <= STATE_LENGTH_MAX
}

/** The longest name of a state is shorter. */
const STATE_LENGTH_MAX = 40

/** Pages by the prefix of the ids that they show. Maps, since documents may have members such as `constructor`. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['wi', 'items'],
  ['runreq', 'runs'],
  ['brief', 'briefs'],
  ['ir', 'intent'],
  ['hyp', 'hypotheses'],
  ['disc', 'discoveries'],
])

/** Pages by the name of the member that holds what they show. */
const MEMBERS: ReadonlyMap<string, string> = new Map([
  ['project', 'projects'],
  ['projects', 'projects'],
  ['runner_id', 'runners'],
  ['running_on', 'runners'],
  ['offered_to', 'runners'],
  ['campaign', 'campaigns'],
  ['initiative', 'initiatives'],
  ['sentinel', 'sentinels'],
  ['session_id', 'sessions'],
  ['trace_id', 'traces'],
  ['submitted_trace_id', 'traces'],
])

/** The page of the things whose ids have the prefix. */
export function pageOfPrefix(prefix: string): string | undefined {
  return PREFIXES.get(prefix)
}

const ID = /^([a-z]+)_[0-9a-f]{24}$/

/** Where a text leads that is an id, or that a member of this name holds; undefined: nowhere. */
export function hrefFor(text: string, member = ''): string | undefined {
  const page = MEMBERS.get(member) ?? PREFIXES.get(ID.exec(text)?.[1] ?? '')
  return page === undefined ? undefined : hrefOf([page, text])
}

interface Piece {
  readonly text: string
  /** Where it leads, if it is the id of something that has a page. */
  readonly href?: string
}

/** The first digits of an id, as the command line takes them. */
export function shortOf(id: string): string {
  return /^([a-z]+_[0-9a-f]{8})[0-9a-f]{16}$/.exec(id)?.[1] ?? id
}

const IDS_IN_TEXT = new RegExp(`\\b(?:${[...PREFIXES.keys()].join('|')})_[0-9a-f]{24}\\b`, 'g')

/** A text in readable pieces, so that the ids in it can be links. */
export function piecesOf(given: string): readonly Piece[] {
  const text = readable(given)
  const pieces: Piece[] = []
  let end = 0
  for (const { 0: id, index } of text.matchAll(IDS_IN_TEXT)) {
    if (index > end) pieces.push({ text: text.slice(end, index) })
    pieces.push({ text: id, href: hrefFor(id)! })
    end = index + id.length
  }
  if (end < text.length) pieces.push({ text: text.slice(end) })
  return pieces
}

type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet'

const TONES: Readonly<Record<Tone, readonly string[]>> = {
  good: ['landed', 'completed', 'ok', 'online', 'active', 'accepted', 'holding', 'ready', 'approved', 'applied'],
  busy: ['running', 'started', 'offered', 'executing', 'forming', 'cycle'],
  warn: [
    ...['held', 'paused', 'preserved', 'cancelling', 'draining', 'stopping', 'proposed', 'reviewable', 'unapproved'],
    ...['close_proposed', 'stale', 'threatened', 'drifted', 'lapsed', 'hypothesis', 'drift', 'asked', 'staged'],
    ...['skipping', 'limited', 'certificate_expiring'],
  ],
  bad: [
    ...['failed', 'lost', 'needs_decision', 'escalated', 'agent_failed', 'unavailable', 'interrupted', 'contradicted'],
    ...['no_runner', 'no_runner_online', 'offline', 'rejected', 'failing', 'unscheduled'],
  ],
  quiet: [],
}

/** The colour of a state. */
export function toneOf(state: string): Tone {
  return (Object.keys(TONES) as Tone[]).find((tone) => TONES[tone].includes(state)) ?? 'quiet'
}
