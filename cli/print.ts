/**
 * What people read: aligned tables and fields, coloured only for a terminal that wants it. Invariant: whatever a text is,
 * none of it drives the terminal, and no cell and no field ends its line. Every column but the
 * last is as wide as its widest cell; on a narrow terminal the last one is cut, or stands on a line of its own, where too
 * little of it would be seen.
 */
import type { Sink } from './world.ts'

const GAP = '  '
/** Before what belongs to the line above. */
export const INDENT = '  '
const COLUMNS_MIN = 40
/** Below so many columns a row of a wide table takes lines of its own. */
const WIDE_COLUMNS = 110
/** Of the last column one wants to see as much, where there is as much. */
const LAST_COLUMN_MIN = 24

export type Tint = 'good' | 'bad' | 'warn' | 'dim' | 'strong'

const TINTS: Readonly<Record<Tint, string>> = { good: '32', bad: '31', warn: '33', dim: '2', strong: '1' }

const STATE_TINTS: Readonly<Record<string, Tint>> = {
  completed: 'good',
  online: 'good',
  active: 'good',
  rejected: 'dim',
  deprecated: 'dim',
  superseded: 'dim',
  contradicted: 'bad',
  hypothesized: 'warn',
  started: 'strong',
  landed: 'good',
  ok: 'good',
  agent_failed: 'bad',
  unavailable: 'bad',
  interrupted: 'warn',
  running: 'strong',
  held: 'warn',
  paused: 'warn',
  escalated: 'bad',
  preserved: 'warn',
  needs_decision: 'bad',
  failed: 'bad',
  lost: 'bad',
  cancelled: 'dim',
  revoked: 'dim',
  offline: 'warn',
  cancelling: 'warn',
  draining: 'warn',
}

export class Printer {
  readonly #out: Sink
  readonly #coloured: boolean

  /** NO_COLOR (no-color.org) wins over everything; FORCE_COLOR colours what is not a terminal. */
  constructor(out: Sink, env: NodeJS.ProcessEnv) {
    this.#out = out
    const wanted =
      (out.isTTY === true && env.TERM !== 'dumb') || (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0')
    this.#coloured = wanted && (env.NO_COLOR === undefined || env.NO_COLOR === '')
  }

  /** Columns of the terminal; undefined where the output is not one. */
  get columns(): number | undefined {
    const { isTTY, columns } = this.#out
    return isTTY === true && columns !== undefined ? Math.max(columns, COLUMNS_MIN) : undefined
  }

  /** Whether a table of many columns finds no room. */
  get isNarrow(): boolean {
    return this.columns !== undefined && this.columns < WIDE_COLUMNS
  }

  line(text = ''): void {
    this.#out.write(`${this.#coloured ? harmlessInColour(text) : harmless(text)}\n`)
  }

  /** What a command printed, in its own lines: as it is, but for a terminal, which it must not drive. */
  output(text: string): void {
    this.#out.write(this.#out.isTTY === true ? harmless(text) : text)
  }

  /**
   * Resolves when there is room for more, or when `signal` aborts. What prints on and on waits for it, and takes nothing from the
   * service meanwhile: otherwise all that a slow reader leaves would be held here.
   */
  async room(signal?: AbortSignal): Promise<void> {
    const out = this.#out
    if (out.writableNeedDrain !== true || signal?.aborted) return
    await new Promise<void>((resolve) => {
      const go = (): void => {
        signal?.removeEventListener('abort', go)
        resolve()
      }
      out.once?.('drain', go)
      signal?.addEventListener('abort', go)
    })
  }

  /** One JSON document on lines of its own. */
  json(value: unknown): void {
    this.line(jsonText(value, 2))
  }

  /** One JSON document on one line. */
  jsonLine(value: unknown): void {
    this.line(jsonText(value))
  }

  tint(text: string, tint: Tint | undefined): string {
    return this.#coloured && tint !== undefined && text !== '' ? `\u001b[${TINTS[tint]}m${text}\u001b[0m` : text
  }

  /** A state in its colour. */
  state(state: string): string {
    return this.tint(state, STATE_TINTS[state])
  }

  /** A text on as many lines as the terminal needs: those after the first stand behind `indent`. */
  text(text: string, indent = ''): void {
    const lines = this.columns === undefined ? [text] : wrapped(text, this.columns, indent)
    for (const line of lines) this.line(line)
  }

  /** The heading of a part, apart from what is above it. */
  heading(text: string): void {
    this.line()
    this.line(this.tint(text, 'strong'))
  }

  /** A part of a page: its lines in full, indented under its heading. Nothing where there are none. */
  section(title: string, lines: readonly string[]): void {
    if (lines.length === 0) return
    this.heading(title)
    for (const line of lines) this.text(`${INDENT}${line}`, INDENT + INDENT)
  }

  /** A row on lines of its own, for narrow terminals: what names it, and more of it indented. Each line is cut. */
  stack(first: string, more: readonly string[]): void {
    this.line(this.#fit(first))
    for (const line of more) this.line(this.#fit(`${INDENT}${line}`))
  }

  /** The same in full, without the lines that say nothing. */
  stackInFull(first: string, more: readonly string[]): void {
    this.text(first, INDENT)
    for (const line of more) if (line !== '') this.text(`${INDENT}${line}`, INDENT)
  }

  /** Rows under headings, each cut to the terminal. An empty list is said in words. */
  table(headings: readonly string[], rows: readonly (readonly string[])[], none: string): void {
    if (rows.length === 0) this.line(none)
    else this.#rows(headings, rows, (line) => this.line(this.#fit(line)))
  }

  /** The same with the last column in full, on as many lines as it needs. */
  tableInFull(headings: readonly string[], rows: readonly (readonly string[])[], none: string): void {
    if (rows.length === 0) this.line(none)
    else this.#rows(headings, rows, (line, indent) => this.text(line, indent))
  }

  /** Behind a list: whether there is more than the so many that were shown, from which end of it. */
  rest(shown: number, more: boolean, end: 'first' | 'latest' = 'first'): void {
    if (more) this.line(`(the ${end} ${shown}; --limit shows more)`)
  }

  #rows(
    headings: readonly string[],
    rows: readonly (readonly string[])[],
    show: (line: string, indent: string) => void,
  ): void {
    const all = [headings, ...rows.map((row) => row.map(oneLine))]
    const widths = headings.map((_, column) => Math.max(...all.map((row) => plain(row[column] ?? '').length)))
    const last = widths.length - 1
    const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0)
    const isNarrow = this.columns !== undefined && this.columns - before < Math.min(widths[last]!, LAST_COLUMN_MIN)
    all.forEach((row, n) => {
      const tint = n === 0 ? 'dim' : undefined
      const lines = isNarrow
        ? stacked(row)
        : [row.map((cell, i) => (i === last ? cell : pad(cell, widths[i]!))).join(GAP)]
      const indent = isNarrow ? GAP : ' '.repeat(before)
      // Of a row that is stacked only what it says is cut, never what names it.
      if (isNarrow) this.text(this.tint(lines.shift()!, tint), GAP)
      for (const line of lines) show(this.tint(line.trimEnd(), tint), indent)
    })
  }

  /** Names and values under each other, in full; what is undefined is left out. */
  fields(fields: readonly (readonly [string, string | undefined])[]): void {
    const said = fields.filter((field): field is [string, string] => field[1] !== undefined && field[1] !== '')
    const shown = said.map(([name, value]) => [name, oneLine(value)] as const)
    const width = Math.max(...shown.map(([name]) => name.length))
    const indent = ' '.repeat(width + GAP.length)
    for (const [name, value] of shown) this.text(`${this.tint(name.padEnd(width), 'dim')}${GAP}${value}`, indent)
  }

  #fit(line: string): string {
    return this.columns === undefined ? line : cut(line, this.columns)
  }
}

/** A row on two lines: its last cell, which says most, has one for itself. */
function stacked(row: readonly string[]): string[] {
  const cells = row.filter((cell) => cell !== '')
  const says = row.at(-1)!
  const first = (says === '' ? cells : cells.slice(0, -1)).join(GAP)
  return says === '' ? [first] : [first, `${GAP}${says}`]
}

/** Breaks between words, so that no line is longer than `columns` visible characters but for what is one word. */
export function wrapped(text: string, columns: number, indent: string): string[] {
  const lines: string[] = []
  let line = ''
  let begins = true
  for (const part of text.split(/( +)/)) {
    const isBreak = part.startsWith(' ')
    if (!isBreak && !begins && plain(line + part).length > columns) {
      lines.push(line.trimEnd())
      line = indent
    }
    line += part
    begins = plain(line).trim() === ''
  }
  return [...lines, line.trimEnd()]
}

/** Cuts to `columns` visible characters; colour codes take no room. */
export function cut(text: string, columns: number): string {
  if (plain(text).length <= columns) return text
  let room = columns - 1
  let result = ''
  for (const part of text.split(COLOUR_PARTS)) {
    if (part.startsWith('\u001b[')) result += part
    else {
      result += part.slice(0, room)
      room = Math.max(0, room - part.length)
    }
  }
  return `${result}…`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with the control character ESC
const COLOUR_PARTS = /(\u001b\[[0-9;]*m)/
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
export const COLOUR = /\u001b\[[0-9;]*m/g

function plain(text: string): string {
  return text.replace(COLOUR, '')
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - plain(cell).length))
}

/**
 * Control characters, by which a text drives a terminal; what else ends a line to some readers; and the marks that change the
 * order in which it is read (UAX 9: embeddings, overrides, isolates).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it takes out
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const RUN_OF_UNSEEN = new RegExp(`${UNSEEN.source}+`, 'g')
const UNSEEN_IN_TEXT = new RegExp(`(?:(?![\\t\\n])${UNSEEN.source})+`, 'g')
const UNSEEN_IN_JSON = new RegExp(`(?!\\n)${UNSEEN.source}`, 'g')
const LINE_ENDS = /[\n\v\f\r\u0085\u2028\u2029]+/g

/** The same text without colours, and with nothing but tabs and the ends of lines of what is not to be seen. */
export function harmless(text: string): string {
  return plain(text).replace(UNSEEN_IN_TEXT, ' ')
}

function harmlessInColour(text: string): string {
  const parts = text.split(COLOUR_PARTS)
  return parts.map((part, n) => (n % 2 === 1 ? part : part.replace(UNSEEN_IN_TEXT, ' '))).join('')
}

function oneLine(text: string): string {
  return text.replace(LINE_ENDS, ' ')
}

/** JSON that says the same with nothing in it that is not to be seen: of that `JSON.stringify` escapes only a part. */
export function jsonText(value: unknown, indent?: number): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(UNSEEN_IN_JSON, escaped)
}

/** What a stranger wrote, on one line and with nothing that is not to be seen: it must not drive the reader's terminal. */
export function safe(text: string): string {
  return text.replace(RUN_OF_UNSEEN, ' ').trim()
}

/** The same of what may not have been said. */
export function said(text: string | undefined): string | undefined {
  return text === undefined ? undefined : safe(text)
}

/** How long ago, in one unit: `42s`, `7m`, `3h`, `12d`. */
export function age(time: string | undefined, nowMs: number = Date.now()): string {
  if (time === undefined) return ''
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}
