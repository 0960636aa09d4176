/** Exports events as JSON lines: one file per UTC month of `occurred_at`, each line exactly the text that is served. */
import { appendFile, open, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { flushFile, flushNamesUpTo } from '../files/flush.ts'
import { makeFolder } from '../files/make-folder.ts'
import { asHomeRefused } from '../home/home-checks.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { type EventSource, openEvents } from '../log/event-source.ts'
import { isKnownBy, type LogIdentity } from '../log/log-identity.ts'
import { paced } from '../paced.ts'
import type { UnreadFile } from '../segments/salvage.ts'

/** Characters collected in memory before they are written. */
const PAGE_CHARS = 4 * 1024 * 1024
const GAPS_MAX = 1_000
/** For events whose `occurred_at` is no valid time (imported as they were). */
const UNDATED = 'undated'

export interface Gap {
  readonly firstSequence: number
  readonly lastSequence: number
}

export interface ExportReport {
  readonly log: LogIdentity
  readonly events: number
  /** File name -> events in it. */
  readonly files: Readonly<Record<string, number>>
  /** First and last sequence exported; a later export continues after the last. */
  readonly firstSequence: number
  readonly lastSequence: number
  /** Events that retention has removed between the end of the earlier export and the first event of the log. */
  readonly forgotten: number
  /** Events that the log claims to hold but that could not be read, and where they were: the first 1,000 places. */
  readonly unreadable: number
  readonly gaps: readonly Gap[]
  /**
   * Files of the log that could not be read, or not completely. Events of the newest file after the last sequence are
   * in no gap, because nobody knows of them.
   */
  readonly unread: readonly UnreadFile[]
}

/** Where an earlier export ended, as a cursor says. A sequence alone is assumed to be of the same log. */
export interface ExportPlace {
  readonly epoch?: string
  readonly incarnation?: string | undefined
  readonly sequence: number
}

/**
 * Refuses a place of another log, where the same sequences are different events: some would never be exported, and
 * nothing would show it.
 */
function assertOfThisLog(place: ExportPlace, source: EventSource): void {
  const { epoch, sequence } = place
  // If the newest file cannot be read, the log's end is unknown.
  const isInside = sequence <= source.lastSequence || source.unread.length > 0
  const isKnown = epoch === undefined || (epoch === source.epoch && isKnownBy(source, place))
  if (isKnown && isInside) return
  let which = `its last event is ${source.lastSequence}`
  if (epoch !== undefined && epoch !== source.epoch) which = `this log is ${source.epoch}`
  else if (isInside) which = `its event ${sequence} is a different one (an older copy of the home was restored)`
  throw new HomeRefused(
    'another_log',
    `the export to continue is of another log: ${which}. A restored home has a new log; export all of it into a new folder`,
  )
}

/**
 * Appends the events of a home after `after` to the month files in `directory`, a page at a time. When it resolves
 * they are on disk under their names; when it rejects the files are as they were. Changes nothing in the home, and
 * needs only what can be read of its log. Rejects with HomeRefused, and file system errors.
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
  } catch (error) {
    await months.undo()
    throw error
  } finally {
    await source.close()
  }
  const { events, files } = months
  const { epoch, incarnationAt, unread } = source
  return {
    log: { epoch, incarnationAt },
    events,
    files,
    firstSequence,
    lastSequence,
    forgotten,
    unreadable,
    gaps,
    unread,
  }
}

class MonthFiles {
  events = 0
  /** File name -> events in it. */
  readonly files: Record<string, number> = {}
  readonly #directory: string
  /** Length of each file before the export, bytes; undefined if it did not exist. */
  readonly #before = new Map<string, number | undefined>()
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

  /**
   * When it resolves, all that was added is on disk, including names of new files and folders. Rejects with
   * HomeRefused.
   */
  async flush(): Promise<void> {
    await this.#write()
    try {
      for (const name of Object.keys(this.files)) flushFile(join(this.#directory, name))
      flushFile(this.#directory)
      flushNamesUpTo(this.#directory)
    } catch (error) {
      throw asHomeRefused(this.#directory, error)
    }
  }

  /** Restores the files as they were, as far as their disk permits, so that the export can be repeated. */
  async undo(): Promise<void> {
    for (const [name, bytes] of this.#before) {
      const path = join(this.#directory, name)
      await (bytes === undefined ? rm(path, { force: true }) : truncate(path, bytes)).catch(() => {})
    }
  }

  async #write(): Promise<void> {
    try {
      makeFolder(this.#directory)
      for (const [name, lines] of byMonth(this.#page)) {
        const begin = this.#before.has(name) ? '' : await this.#begin(name)
        // Opened each time, since events may be of more months than a process may have files open.
        await appendFile(join(this.#directory, name), `${begin}${lines.join('\n')}\n`)
        this.files[name] = (this.files[name] ?? 0) + lines.length
      }
    } catch (error) {
      throw asHomeRefused(this.#directory, error)
    }
    this.events += this.#page.length
    this.#page = []
    this.#chars = 0
  }

  /** What precedes the first line added: a line break if an export that was killed left part of a line. */
  async #begin(name: string): Promise<'' | '\n'> {
    try {
      const file = await open(join(this.#directory, name), 'r')
      try {
        const { size } = await file.stat()
        this.#before.set(name, size)
        const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
        return size === 0 || buffer.toString('latin1') === '\n' ? '' : '\n'
      } finally {
        await file.close()
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      this.#before.set(name, undefined)
      return ''
    }
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
