/**
 * Output for people: aligned tables and fields, coloured only on a terminal that wants it. Invariant: no text, whatever
 * it contains, controls the terminal, and no cell or field breaks its line. Every column but the last is as wide as its
 * widest cell; on a narrow terminal the last one is cut, or gets a line of its own if too little of it would show.
 */
import type { Sink } from './world.ts'

const GAP = '  '
/** Indentation of what belongs to the line above. */
export const INDENT = '  '
const COLUMNS_MIN = 40
/** With fewer columns a row of a wide table takes several lines. */
const WIDE_COLUMNS = 110
/** Columns of the last cell to show at least, if it has as many. */
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
  #isWithinLine = false
  readonly #coloured: boolean
  readonly #nowMs: () => number

  /**
   * NO_COLOR (no-color.org) wins over everything; FORCE_COLOR also colours output that is no terminal.
   * @param nowMs the clock by which ages count
   */
  constructor(out: Sink, env: NodeJS.ProcessEnv, nowMs: () => number = Date.now) {
    this.#out = out
    this.#nowMs = nowMs
    const wanted =
      (out.isTTY === true && env.TERM !== 'dumb') || (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0')
    this.#coloured = wanted && (env.NO_COLOR === undefined || env.NO_COLOR === '')
  }

  /** Columns of the terminal; undefined if the output is not one. */
  get columns(): number | undefined {
    const { isTTY, columns } = this.#out
    return isTTY === true && columns !== undefined ? Math.max(columns, COLUMNS_MIN) : undefined
  }

  /** Whether a table with many columns does not fit. */
  get isNarrow(): boolean {
    return this.columns !== undefined && this.columns < WIDE_COLUMNS
  }

  /** How long ago, in one unit. */
  age(time: string | undefined): string {
    return age(time, this.#nowMs())
  }

  line(text = ''): void {
    this.#out.write(`${this.#coloured ? harmlessInColour(text) : harmless(text)}\n`)
  }

  /** A command's output with its own lines: unchanged, except that it must not control a terminal. */
  output(text: string): void {
    this.#out.write(this.#out.isTTY === true ? harmless(text) : text)
    this.#isWithinLine = text === '' ? this.#isWithinLine : !text.endsWith('\n')
  }

  /** The output has ended: on a terminal, ends an open last line, so that the next text begins on a new one. */
  outputOver(): void {
    if (this.#isWithinLine && this.#out.isTTY === true) this.#out.write('\n')
    this.#isWithinLine = false
  }

  /**
   * Resolves when there is room for more output, or when `signal` aborts. Endless output waits here, and meanwhile
   * reads nothing from the service; otherwise everything that a slow reader leaves would pile up in memory.
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

  /** A JSON document on several lines. */
  json(value: unknown): void {
    this.line(jsonText(value, 2))
  }

  /** A JSON document on one line. */
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

  /** A text on as many lines as the terminal needs; continuation lines are indented by `indent`. */
  text(text: string, indent = ''): void {
    const lines = this.columns === undefined ? [text] : wrapped(text, this.columns, indent)
    for (const line of lines) this.line(line)
  }

  /** The heading of a section, after an empty line. */
  heading(text: string): void {
    this.line()
    this.line(this.tint(text, 'strong'))
  }

  /** A section of a page: its lines in full, indented below its heading. Prints nothing if there are none. */
  section(title: string, lines: readonly string[]): void {
    if (lines.length === 0) return
    this.heading(title)
    for (const line of lines) this.text(`${INDENT}${line}`, INDENT + INDENT)
  }

  /** A row as several lines, for narrow terminals: the first names it, the others are indented. Each line is cut. */
  stack(first: string, more: readonly string[]): void {
    this.line(this.#fit(first))
    for (const line of more) this.line(this.#fit(`${INDENT}${line}`))
  }

  /** The same in full, without empty lines. */
  stackInFull(first: string, more: readonly string[]): void {
    this.text(first, INDENT)
    for (const line of more) if (line !== '') this.text(`${INDENT}${line}`, INDENT)
  }

  /** Rows below headings, each cut to the terminal. An empty list is stated in words. */
  table(headings: readonly string[], rows: readonly (readonly string[])[], none: string): void {
    if (rows.length === 0) this.line(none)
    else this.#rows(headings, rows, (line) => this.line(this.#fit(line)))
  }

  /** The same with the last column in full, on as many lines as it needs. */
  tableInFull(headings: readonly string[], rows: readonly (readonly string[])[], none: string): void {
    if (rows.length === 0) this.line(none)
    else this.#rows(headings, rows, (line, indent) => this.text(line, indent))
  }

  /** After a list: says whether there are more than were shown, and from which end of the list these are. */
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
      // The name of a stacked row is never cut, only the rest.
      if (isNarrow) this.text(this.tint(lines.shift()!, tint), GAP)
      for (const line of lines) show(this.tint(line.trimEnd(), tint), indent)
    })
  }

  /** Names and values in two columns, in full; undefined ones are left out. */
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

/** A row on two lines: its last cell, which says most, gets its own. */
function stacked(row: readonly string[]): string[] {
  const cells = row.filter((cell) => cell !== '')
  const says = row.at(-1)!
  const first = (says === '' ? cells : cells.slice(0, -1)).join(GAP)
  return says === '' ? [first] : [first, `${GAP}${says}`]
}

/** Breaks between words, so that no line is longer than `columns` visible characters, except for a single long word. */
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

/** Cuts to `columns` visible characters; colour codes take no space. */
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
 * Control characters, with which a text could control a terminal; further characters that some readers take for a line
 * end; and marks that change the reading order (UAX 9: embeddings, overrides, isolates).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const RUN_OF_UNSEEN = new RegExp(`${UNSEEN.source}+`, 'g')
const UNSEEN_IN_TEXT = new RegExp(`(?:(?![\\t\\n])${UNSEEN.source})+`, 'g')
const UNSEEN_IN_JSON = new RegExp(`(?!\\n)${UNSEEN.source}`, 'g')
const LINE_ENDS = /[\n\v\f\r\u0085\u2028\u2029]+/g

/** The text without colours and invisible characters, except tabs and line ends. */
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

/** Equivalent JSON without invisible characters, of which `JSON.stringify` escapes only some. */
export function jsonText(value: unknown, indent?: number): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(UNSEEN_IN_JSON, escaped)
}

/**
 * Text from an untrusted source on one line, without invisible characters: it must not control the reader's terminal.
 */
export function safe(text: string): string {
  return text.replace(RUN_OF_UNSEEN, ' ').trim()
}

/** The same for a text that may be absent. */
export function said(text: string | undefined): string | undefined {
  return text === undefined ? undefined : safe(text)
}

/** How long before `nowMs`, in one unit: `42s`, `7m`, `3h`, `12d`. */
export function age(time: string | undefined, nowMs: number): string {
  if (time === undefined) return ''
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}
