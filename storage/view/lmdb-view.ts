/**
 * The tables of the view in LMDB. The serving thread writes little, through batches that LMDB's own thread commits;
 * the view thread (storage/view/view-thread.ts) uses blocking transactions. A blocking transaction would split a batch
 * in two, so no thread does both. All tables are opened here, once, since a later openDB would be such a transaction.
 */
import { Buffer } from 'node:buffer'
import { chmodSync, closeSync, constants, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { checkedRecord, checkedRow } from '../checked-text.ts'
import { type Key, VIEW_TABLES, type ViewTables } from '../environments.ts'
import { FILE_MODE } from '../files/modes.ts'
import { writeWhole } from '../files/write-whole.ts'
import { DATA_FILE, LOCK_FILE } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { type Begin, type PackedRows, putRows, recordedTables } from './recorded-tables.ts'
import { type OnRepeat, repeated } from './repeated-commit.ts'

const DATABASES_MAX = 16

/**
 * With `overlappingSync` off, a commit is LMDB's own: the data is flushed, then the meta page is written through
 * O_DSYNC, and the call (or the batch's promise) ends after both. With lmdb-js' default the promise resolves before
 * the flush, and nobody hears of a flush error. Measured equally fast on this path.
 */
export const DURABLE = { overlappingSync: false, maxDbs: DATABASES_MAX }

/**
 * How many entries of the free-page list stay in memory between commits; a longer list is read again from its newest
 * end, as far as needed. At each commit lmdb-js verifies everything it has in memory by rebuilding it. With its
 * default of 75,000 that took half the CPU of writing a view of 750 MB with a third of it free (400 us per entity
 * written and removed, 200 with this), growing without end in a service under retention. How much may be read at once
 * is left at its default: with less the file grows, since runs of pages are not found.
 */
const FREE_ENTRIES_KEPT_MAX = 1_000

/** More than LMDB needs for its 126 readers. */
const LOCK_FILE_BYTES = 12 * 1024

/** lmdb accepts an encoder here too; its types allow one for the root database only. */
const CHECKED_ROW = { cache: false, encoder: checkedRow }
const CHECKED_RECORD = { cache: false, encoder: checkedRecord }
const TEXT = { encoding: 'string' as const }
const IGNORE = () => {}

export interface OpenView {
  /** Folder of the view. */
  readonly path: string
  readonly root: RootDatabase
  readonly tables: ViewTables
  /** Writes what another thread has recorded, as one transaction on disk. */
  put(parts: readonly PackedRows[]): Promise<void>
  /** Bytes of the pages in use, which is the size of a compacted copy. */
  bytesInUse(): number
}

/** LMDB's statistics of one table: page counts, and the page size in bytes. */
interface TableStats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/**
 * Opens the view, or creates it. Throws HomeRefused, and lmdb and file system errors.
 * @param begin where larger writes are sent; without it everything is written here, in blocking transactions.
 */
export function openView(path: string, readOnly: boolean, onRepeat: OnRepeat, begin?: Begin): OpenView {
  const options = { path, ...DURABLE, maxFreeSpaceToRetain: FREE_ENTRIES_KEPT_MAX, readOnly }
  makeLockFile(path)
  const root = open(options)
  // LMDB creates the file readable by everybody.
  if (!readOnly) chmodSync(join(path, DATA_FILE), FILE_MODE)
  assertTables(root)
  const text = <K extends Key | string>(name: string) => root.openDB<string, K>(name, TEXT)
  /** A table that cannot be derived from others. */
  const truth = <K extends Key | string>(name: string) => root.openDB<string, K>(name, CHECKED_ROW)
  const databases: Omit<ViewTables, 'env'> = {
    snapshots: root.openDB<string, Key>(VIEW_TABLES.snapshots, CHECKED_RECORD),
    entities: text(VIEW_TABLES.entities),
    counts: text(VIEW_TABLES.counts),
    eventIds: text(VIEW_TABLES.eventIds),
    histories: text(VIEW_TABLES.histories),
    timers: truth(VIEW_TABLES.timers),
    outbox: truth(VIEW_TABLES.outbox),
    reservations: truth(VIEW_TABLES.reservations),
    marker: truth(VIEW_TABLES.marker),
  }
  const transaction = (write: () => void): Promise<void> =>
    repeated(async () => (begin === undefined ? root.transactionSync(write) : batch(root, write)), onRepeat)
  const { commit, ...recorded } = recordedTables(databases, transaction, begin)
  const put = (parts: readonly PackedRows[]): Promise<void> =>
    transaction(() => {
      for (const rows of parts) putRows(rows, databases)
    })
  const env = { commit, useReadTransaction: () => root.useReadTransaction(), close: () => root.close() }
  const bytesInUse = (): number => {
    let bytes = 0
    for (const database of [root, ...Object.values(databases)]) {
      const stats = (database as RootDatabase).getStats() as TableStats
      bytes += stats.pageSize * (stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages)
    }
    return bytes
  }
  return { path, root, tables: { ...recorded, env }, put, bytesInUse }
}

/** For a process that only copies the view, and whose end by a signal its parent reports. Throws lmdb errors. */
export const openToCopy = (path: string): RootDatabase => open({ path, ...DURABLE, readOnly: true })

/**
 * LMDB sizes its lock file by itself and writes to it through a memory map: on a full disk, or if it may not be
 * opened, the process ends by a signal, without a word. So the file is created beforehand with its blocks allocated,
 * and any failure is thrown.
 */
export function makeLockFile(environment: string): void {
  const file = openSync(join(environment, LOCK_FILE), constants.O_RDWR | constants.O_CREAT, FILE_MODE)
  try {
    const { size } = fstatSync(file)
    if (size < LOCK_FILE_BYTES) writeWhole(file, Buffer.alloc(LOCK_FILE_BYTES - size), size)
  } finally {
    closeSync(file)
  }
}

/**
 * Opening a missing table by name would create it empty, as if nothing had ever been in it. A new view has no tables
 * yet.
 */
function assertTables(root: RootDatabase): void {
  const found = new Set(root.getKeys() as Iterable<unknown>)
  const missing = Object.values(VIEW_TABLES).filter((name) => !found.has(name))
  if (missing.length === 0 || found.size === 0) return
  void root.close()
  const file = `view/${DATA_FILE}`
  throw new HomeRefused('corrupt', `${file} is damaged (it has no table ${missing}): put it back, or restore a backup`)
}

/**
 * The queued writes of one `batch` call are one transaction, committed and flushed by lmdb's writer thread. If it
 * fails, lmdb-js rejects more promises than the one it returns: one that the writes share, one of the event turn in
 * which they began, and one that hides the cause. Any of them left unhandled would end the process in mid-answer.
 */
async function batch(env: RootDatabase, write: () => void): Promise<void> {
  try {
    await env.batch(() => {
      write()
      env.committed.then(IGNORE, IGNORE)
      // After lmdb-js' own immediate, which the first write has set.
      setImmediate(() => env.committed.then(IGNORE, IGNORE))
    })
  } catch (error) {
    const cause = (error as { commitError?: Promise<never> }).commitError
    throw cause === undefined ? error : await cause.catch((reason: unknown) => reason)
  }
}
