/** Opens the log of a home, or makes it; one of an older schema becomes one of this. */
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { HEAD_EPOCH, HEAD_FLOOR, HEAD_FORGOTTEN, HEAD_LAST, HEAD_SCHEMA, type LogTables } from '../environments.ts'
import { flushFile } from '../files/flush.ts'
import { freeBytesOf } from '../home/disk-reserve.ts'
import { DATA_FILE, LOCK_FILE, segmentPath, segmentsIn } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { type LogOptions, SegmentedLog } from '../segments/segmented-log.ts'
import { tablesOf } from '../segments/tables.ts'
import { openLmdbLog } from './lmdb-log.ts'

/** Characters carried over by one commit. */
const CARRIED_CHARS_MAX = 4 * 1024 * 1024

interface OpenLog {
  readonly tables: LogTables
  /** Undefined: it is of an older schema, and was opened to be read as it is. */
  readonly files: SegmentedLog | undefined
}

/**
 * `check` sees the head before anything is made, and throws to stop there. Throws HomeRefused, and what lmdb and the file system
 * throw.
 */
export async function openLog(
  path: string,
  options: LogOptions,
  check: (head: LogTables['head']) => void,
): Promise<OpenLog> {
  if (existsSync(join(path, DATA_FILE))) {
    const old = openLmdbLog(path)
    try {
      check(old.head)
      if (options.readOnly) return { tables: old, files: undefined }
      await assertRoom(path)
      carryOver(old, path, options)
    } catch (error) {
      await old.env.close()
      throw error
    }
    await old.env.close()
    for (const file of [DATA_FILE, LOCK_FILE]) rmSync(join(path, file), { force: true })
    flushFile(path)
  }
  const files = new SegmentedLog(path, options)
  const tables = tablesOf(files)
  try {
    check(tables.head)
  } catch (error) {
    await files.close()
    throw error
  }
  return { tables, files }
}

/** Rejects with HomeRefused. */
async function assertRoom(path: string): Promise<void> {
  const { size } = statSync(join(path, DATA_FILE))
  if ((await freeBytesOf(path)()) > size) return
  throw new HomeRefused(
    'disk_reserve',
    `${path} is of an older version, and is carried over into new files: free as much space as it has bytes (${size}), then start again`,
  )
}

/** Writes all that an older log holds into files beside it. Cut short, it begins anew: as long as the old log is there, it is the log. */
function carryOver(old: LogTables, path: string, options: LogOptions): void {
  for (const ordinal of segmentsIn(path)) rmSync(segmentPath(path, ordinal))
  const files = new SegmentedLog(path, options)
  try {
    const tables = tablesOf(files)
    for (const name of ['events', 'redo'] as const) {
      const rows = old[name].getRange({})[Symbol.iterator]()
      for (let isOver = false; !isOver; ) {
        tables.env.transactionSync(() => {
          isOver = carry(rows, tables[name])
        })
      }
    }
    tables.env.transactionSync(() => {
      for (const name of [HEAD_EPOCH, HEAD_LAST, HEAD_FLOOR, HEAD_SCHEMA, HEAD_FORGOTTEN]) {
        const text = old.head.get(name)
        if (text !== undefined) tables.head.put(name, text)
      }
    })
  } finally {
    void files.close()
  }
}

/** Some rows; true: these were the last. */
function carry(rows: Iterator<{ readonly key: number; readonly value: string }>, to: LogTables['events']): boolean {
  for (let chars = 0; chars < CARRIED_CHARS_MAX; ) {
    const next = rows.next()
    if (next.done === true) return true
    to.append(next.value.key, [next.value.value])
    chars += next.value.value.length
  }
  return false
}
