/** Events out as JSON lines: one file per UTC month of `occurred_at`, each line the text exactly as it is served. */
import { appendFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type EventSource, openEvents } from './event-source.ts'
import { flushFile, flushNamesUpTo } from './flush.ts'
import { HomeRefused } from './home-refused.ts'
import { paced } from './paced.ts'

/** Held in memory before they are written. */
const PAGE_CHARS = 4 * 1024 * 1024
const GAPS_MAX = 1_000
/** For an event whose `occurred_at` is no time (imported as it was). */
const UNDATED = 'undated'

export interface Gap {
  readonly firstSequence: number
  readonly lastSequence: number
}

export interface ExportReport {
  /** Identity of the log. */
  readonly epoch: string
  readonly events: number
  /** File name -> events in it. */
  readonly files: Readonly<Record<string, number>>
  /** First and last sequence that were exported; a later export goes on behind the last. */
  readonly firstSequence: number
  readonly lastSequence: number
  /** Between what an earlier export went up to and the first event that the log holds: retention has taken them. */
  readonly forgotten: number
  /** Events that the log says it holds and that could not be read, and where they were: the first 1,000 places. */
  readonly unreadable: number
  readonly gaps: readonly Gap[]
}

/** Where an earlier export ended. Without an epoch it is taken to be of the same log. */
export interface ExportPlace {
  readonly epoch?: string
  readonly sequence: number
}

/** What came later in one log is something else in another: nothing of it would be missed, and some of it never exported. */
function assertOfThisLog({ epoch, sequence }: ExportPlace, source: EventSource): void {
  if ((epoch === undefined || epoch === source.epoch) && sequence <= source.lastSequence) return
  const which =
    epoch !== undefined && epoch !== source.epoch
      ? `this log is ${source.epoch}`
      : `its last event is ${source.lastSequence}`
  throw new HomeRefused(
    'another_log',
    `the export to go on with was of another log: ${which}. A restored home is one; export it whole into a folder of its own`,
  )
}

/**
 * Appends the events of a home after `after` to the month files in `directory`, a page at a time; they are on disk under
 * their names when it resolves. Changes nothing in the home, and needs no more of it than what can be read of its log. Rejects
 * with HomeRefused, and with what the file system says.
 */
export async function exportEvents(home: string, directory: string, after?: ExportPlace): Promise<ExportReport> {
  const source = await openEvents(home)
  const months = new MonthFiles(directory)
  const gaps: Gap[] = []
  const firstSequence = Math.max((after?.sequence ?? 0) + 1, source.oldestSequence)
  const forgotten = after === undefined ? 0 : firstSequence - after.sequence - 1
  let next = firstSequence
  let lastSequence = firstSequence - 1
  let unreadable = 0
  const passTo = (sequence: number) => {
    if (sequence <= next) return
    unreadable += sequence - next
    if (gaps.length < GAPS_MAX) gaps.push({ firstSequence: next, lastSequence: sequence - 1 })
    next = sequence
  }
  try {
    if (after !== undefined) assertOfThisLog(after, source)
    for await (const { first, texts } of paced(source.rowsFrom(firstSequence))) {
      passTo(first)
      await months.add(texts.slice(next - first))
      next = first + texts.length
      lastSequence = next - 1
    }
    passTo(source.lastSequence + 1)
    await months.flush()
  } finally {
    await source.close()
  }
  const { events, files } = months
  return { epoch: source.epoch, events, files, firstSequence, lastSequence, forgotten, unreadable, gaps }
}

class MonthFiles {
  events = 0
  /** File name -> events in it. */
  readonly files: Record<string, number> = {}
  readonly #directory: string
  #page: string[] = []
  #chars = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  async add(texts: readonly string[]): Promise<void> {
    for (const text of texts) {
      this.#page.push(text)
      this.#chars += text.length
    }
    if (this.#chars >= PAGE_CHARS) await this.#write()
  }

  /** All that was added is on disk when it resolves, the names of new files and folders, too. */
  async flush(): Promise<void> {
    await this.#write()
    for (const name of Object.keys(this.files)) flushFile(join(this.#directory, name))
    flushFile(this.#directory)
    flushNamesUpTo(this.#directory)
  }

  async #write(): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    for (const [name, lines] of byMonth(this.#page)) {
      // Opened anew each time: events may be of more months than a process may have files open.
      await appendFile(join(this.#directory, name), `${lines.join('\n')}\n`)
      this.files[name] = (this.files[name] ?? 0) + lines.length
    }
    this.events += this.#page.length
    this.#page = []
    this.#chars = 0
  }
}

function byMonth(texts: readonly string[]): Map<string, string[]> {
  const months = new Map<string, string[]>()
  for (const text of texts) {
    const { occurred_at: occurredAt } = JSON.parse(text) as { occurred_at?: string }
    const occurred = new Date(occurredAt ?? Number.NaN)
    const month = Number.isNaN(occurred.getTime()) ? UNDATED : occurred.toISOString().slice(0, 'YYYY-MM'.length)
    const name = `events-${month}.jsonl`
    const lines = months.get(name)
    if (lines === undefined) months.set(name, [text])
    else lines.push(text)
  }
  return months
}
