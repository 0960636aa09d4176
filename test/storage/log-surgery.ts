/** Changes the log of a closed home behind the journal's back. */
import { closeSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs'
import {
  HEAD_EPOCH,
  HEAD_FLOOR,
  HEAD_FORGOTTEN,
  HEAD_LAST,
  HEAD_MACHINES,
  HEAD_SCHEMA,
} from '../../storage/environments.ts'
import { environmentPaths, segmentPath, segmentsIn } from '../../storage/home/home-paths.ts'
import { KIND } from '../../storage/segments/frame.ts'
import { SegmentedLog } from '../../storage/segments/segmented-log.ts'
import { tablesOf } from '../../storage/segments/tables.ts'

export interface LogContent {
  /** First sequence of the row -> its texts, one a line. */
  readonly events: Map<number, string>
  readonly redo: Map<number, string>
  readonly head: Record<string, string>
}

/** Rewrites the log, in one file, with its rows as `change` leaves them. */
export function rewriteLog(home: string, change: (content: LogContent) => void): void {
  const { log: folder } = environmentPaths(home)
  const old = new SegmentedLog(folder, { readOnly: true })
  const { events, redo, head } = tablesOf(old)
  const rowsOf = (table: typeof events) => new Map([...table.getRange()].map(({ key, value }) => [key, value]))
  const content: LogContent = { events: rowsOf(events), redo: rowsOf(redo), head: {} }
  for (const name of [HEAD_EPOCH, HEAD_FLOOR, HEAD_LAST, HEAD_SCHEMA, HEAD_MACHINES, HEAD_FORGOTTEN]) {
    const text = head.get(name)
    if (text !== undefined) content.head[name] = text
  }
  void old.close()
  change(content)
  for (const ordinal of segmentsIn(folder)) rmSync(segmentPath(folder, ordinal))
  const made = new SegmentedLog(folder, { readOnly: false })
  const tables = tablesOf(made)
  made.transactionSync(() => {
    for (const name of ['events', 'redo'] as const) {
      for (const key of [...content[name].keys()].sort((one, other) => one - other))
        tables[name].append(key, [content[name].get(key)!])
    }
    for (const [name, text] of Object.entries(content.head)) tables.head.put(name, text)
  })
  void made.close()
}

/** Flips one bit on disk in the row of events that begins with this one. */
export function flipInEvents(home: string, first: number, at: number): void {
  const log = new SegmentedLog(environmentPaths(home).log, { readOnly: true })
  for (const segment of log.snapshot.segments) {
    const rows = segment.rows(KIND.events)
    const row = rows.atOrBefore(first)
    if (row >= 0 && rows.key(row) === first) flip(segment.path, rows.place(row).at + at)
  }
  void log.close()
}

/** Flips one bit in a full file's index of its rows. */
export function flipInIndex(path: string): void {
  const bytes = readFileSync(path)
  flip(path, bytes.readDoubleLE(bytes.length - 8) + 40)
}

export function flip(path: string, at: number): void {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, at)
  byte[0]! ^= 1
  writeSync(file, byte, 0, 1, at)
  closeSync(file)
}
