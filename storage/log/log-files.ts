/** Opens the log of a home, or creates it. Converts one of an older schema. */
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { HEAD_EPOCH, HEAD_FLOOR, HEAD_LAST, HEAD_SCHEMA, type LogTables } from '../environments.ts'
import { flushFile } from '../files/flush.ts'
import { freeBytesOf } from '../home/disk-reserve.ts'
import { DATA_FILE, LOCK_FILE, segmentPath, segmentsIn } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { type LogOptions, SegmentedLog } from '../segments/segmented-log.ts'
import { tablesOf } from '../segments/tables.ts'
import { openLmdbLog } from './lmdb-log.ts'

/** Characters that one commit of the conversion copies. */
const CARRIED_CHARS_MAX = 4 * 1024 * 1024

interface OpenLog {
  readonly tables: LogTables
  /** Undefined if the log is of an older schema and was opened read-only. */
  readonly files: SegmentedLog | undefined
}

/**
 * `check` sees the head before anything is created, and throws to stop there. Throws HomeRefused, and lmdb errors
 * and the file system.
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
    `${path} is of an older version and has to be copied into new files: free as much space as its size (${size} bytes), then start again`,
  )
}

/**
 * Copies an older log into files beside it. After an interruption the copy starts over: as long as the old log is
 * there, it is the one that counts.
 */
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
      for (const name of [HEAD_EPOCH, HEAD_LAST, HEAD_FLOOR, HEAD_SCHEMA]) {
        const text = old.head.get(name)
        if (text !== undefined) tables.head.put(name, text)
      }
    })
  } finally {
    void files.close()
  }
}

/** Copies some rows. Returns true if these were the last. */
function carry(rows: Iterator<{ readonly key: number; readonly value: string }>, to: LogTables['events']): boolean {
  for (let chars = 0; chars < CARRIED_CHARS_MAX; ) {
    const next = rows.next()
    if (next.done === true) return true
    to.append(next.value.key, [next.value.value])
    chars += next.value.value.length
  }
  return false
}
