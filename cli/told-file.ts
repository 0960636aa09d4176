/**
 * The file of `intendant attention --follow --state`: which calls somebody was told of, so that a restart does not tell them again.
 * Its first line holds all of them as they were when it was last written whole; each later line is one change. So telling of one
 * among many writes one line, and the file never has more changes than calls, apart from the first few.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Call } from './attention-calls.ts'
import { CliFailure } from './exit.ts'
import { keep, keepMore, keptIn } from './kept-file.ts'

const VERSION = 1
/** So many changes are kept before the file is written whole, however few calls it has. */
const CHANGES_MIN = 1_000

/** What the reading was narrowed to: a call outside of it has not ended only because it is not listed. */
export interface AttentionFilter {
  readonly project?: string
  readonly reason?: readonly string[]
}

type Change = { readonly told: Call } | { readonly over: string }

export class ToldFile {
  readonly #file: string
  readonly #filter: AttentionFilter
  readonly #told: Map<string, Call>
  #changes = 0

  /** Throws CliFailure if it is another kind of file, or of another filter, or cannot be written. */
  constructor(file: string, filter: AttentionFilter) {
    this.#file = file
    this.#filter = filter
    this.#told = toldIn(file, filter)
    // Whether it can be written shows before anything is told; and a line that a crash has cut off goes.
    this.#writeWhole()
  }

  get told(): readonly Call[] {
    return [...this.#told.values()]
  }

  /** Makes it say this; on disk when it returns. Throws CliFailure. */
  keep(told: readonly Call[]): void {
    const now = new Map(told.map((call) => [call.key, call]))
    const over = [...this.#told.keys()].filter((key) => !now.has(key))
    const news = told.filter(({ key }) => !this.#told.has(key))
    const changes: readonly Change[] = [...over.map((key) => ({ over: key })), ...news.map((call) => ({ told: call }))]
    if (changes.length === 0) return
    for (const change of changes) apply(this.#told, change)
    this.#changes += changes.length
    if (this.#changes > Math.max(CHANGES_MIN, this.#told.size)) this.#writeWhole()
    else keepMore(this.#file, changes.map(lineOf).join(''))
  }

  #writeWhole(): void {
    keep(this.#file, lineOf({ version: VERSION, filter: this.#filter, told: this.told }))
    this.#changes = 0
  }
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`
}

function apply(told: Map<string, Call>, change: Change): void {
  if ('told' in change) told.set(change.told.key, change.told)
  else told.delete(change.over)
}

/** The calls in the file, by their keys; none if it does not exist. */
function toldIn(file: string, filter: AttentionFilter): Map<string, Call> {
  const text = keptIn(file)
  if (text === undefined) return new Map()
  const content = contentOf(text)
  if (content === undefined)
    throw new CliFailure(`${file} is no file of attention --state. Name another, or remove it.`)
  if (isDeepStrictEqual(content.filter, plain(filter))) return content.told
  throw new CliFailure(
    `${file} belongs to other filters (${JSON.stringify(content.filter)}). Name another, or remove it: then all that needs a person now is told again.`,
  )
}

function contentOf(text: string): { readonly filter: unknown; readonly told: Map<string, Call> } | undefined {
  // What follows the last line end is a change that a crash has cut off: it was not told to be kept.
  const [first = '', ...changes] = text.split('\n').slice(0, -1)
  try {
    const { version, filter, told } = JSON.parse(first)
    if (version !== VERSION || !Array.isArray(told)) return undefined
    const calls = new Map<string, Call>(told.map((call) => [call.key, call]))
    for (const change of changes) apply(calls, JSON.parse(change))
    return { filter, told: calls }
  } catch {
    return undefined
  }
}

/** As it is in the file: without absent members. */
function plain(filter: AttentionFilter): unknown {
  return JSON.parse(JSON.stringify(filter))
}
