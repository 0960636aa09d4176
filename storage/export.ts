/** Events out as JSON lines: one file per UTC month of `occurred_at`, each line the text exactly as it is served. */
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Journal } from './journal.ts'

const PAGE_EVENTS = 1_000
const PAGE_BYTES = 4 * 1024 * 1024
/** For an event whose `occurred_at` is no time (imported as it was). */
const UNDATED = 'undated'

export interface ExportReport {
  readonly events: number
  /** File name -> events in it. */
  readonly files: Readonly<Record<string, number>>
  /** First and last sequence that were exported; a later export goes on behind the last. */
  readonly firstSequence: number
  readonly lastSequence: number
}

/** Appends the events after `afterSequence` to the month files in `directory`, a page at a time. Rejects with CorruptRow. */
export async function exportEvents(journal: Journal, directory: string, afterSequence = 0): Promise<ExportReport> {
  await mkdir(directory, { recursive: true })
  const handles = new Map<string, FileHandle>()
  const files: Record<string, number> = {}
  const firstSequence = Math.max(afterSequence + 1, journal.oldestSequence)
  let lastSequence = firstSequence - 1
  let events = 0
  try {
    for (;;) {
      const page = journal.events(lastSequence, PAGE_EVENTS, PAGE_BYTES)
      if (page.events.length === 0) break
      for (const [name, lines] of byMonth(page.events.map(({ text }) => text))) {
        let handle = handles.get(name)
        if (handle === undefined) {
          handle = await open(join(directory, name), 'a')
          handles.set(name, handle)
        }
        await handle.appendFile(`${lines.join('\n')}\n`)
        files[name] = (files[name] ?? 0) + lines.length
      }
      events += page.events.length
      lastSequence = page.events.at(-1)!.sequence
    }
    for (const handle of handles.values()) await handle.datasync()
  } finally {
    for (const handle of handles.values()) await handle.close()
  }
  return { events, files, firstSequence, lastSequence }
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
