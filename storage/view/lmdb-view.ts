/**
 * The tables of the view in LMDB. The thread that serves writes little, by batches that LMDB's own thread commits; the thread that writes
 * (storage/view/view-thread.ts) waits for its transactions. One such write splits a batch in two, so no thread does both, and everything is
 * opened here, once: an openDB later would be such a write.
 */
import { Buffer } from 'node:buffer'
import { chmodSync, closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { checkedRecord, checkedRow } from '../checked-text.ts'
import { type Key, VIEW_TABLES, type ViewTables } from '../environments.ts'
import { FILE_MODE } from '../files/modes.ts'
import { DATA_FILE, LOCK_FILE } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { type Begin, type PackedRows, putRows, recordedTables } from './recorded-tables.ts'
import { type OnRepeat, repeated } from './repeated-commit.ts'

const DATABASES_MAX = 16

/**
 * With `overlappingSync` off, a commit is LMDB's own: data flushed, then the meta page written through O_DSYNC,
 * and the call (or the batch's promise) ends after both. With lmdb-js's default the promise comes before the
 * flush, and an error of the flush reaches nobody. Measured equally fast on this path.
 */
export const DURABLE = { overlappingSync: false, maxDbs: DATABASES_MAX }

/**
 * Entries of the list of free pages that are kept in memory from one commit to the next; a longer one is read again, from its newest
 * end, as far as it is needed. With each commit lmdb-js checks all that it has in memory by putting it together anew: at its own 75,000
 * that was half of the CPU of writing a view of 750 MB with a third of it free (400 us an entity written and removed, 200 with this),
 * and ever more of a service under retention. What may be read in at once is left as it is: with less, the file grows, since runs of
 * pages are not found.
 */
const FREE_ENTRIES_KEPT_MAX = 1_000

/** More than LMDB needs for its 126 readers. */
const LOCK_FILE_BYTES = 12 * 1024

/** lmdb takes an encoder here too; its types say so for the root database only. */
const CHECKED_ROW = { cache: false, encoder: checkedRow }
const CHECKED_RECORD = { cache: false, encoder: checkedRecord }
const TEXT = { encoding: 'string' as const }
const IGNORE = () => {}

export interface OpenView {
  /** Its folder. */
  readonly path: string
  readonly root: RootDatabase
  readonly tables: ViewTables
  /** Makes what another thread has taken down one transaction on disk. */
  put(parts: readonly PackedRows[]): Promise<void>
  /** Bytes of the pages that hold something: as long is a copy that leaves out the free ones. */
  bytesInUse(): number
}

/** What LMDB says of one table: pages, and bytes of each. */
interface TableStats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/**
 * Opens the view, or makes it. Throws HomeRefused, and what lmdb and the file system throw.
 * @param begin where more than a little goes to be written; without it all is written here, and the thread waits for it.
 */
export function openView(path: string, readOnly: boolean, onRepeat: OnRepeat, begin?: Begin): OpenView {
  const options = { path, ...DURABLE, maxFreeSpaceToRetain: FREE_ENTRIES_KEPT_MAX, readOnly }
  makeLockFile(path)
  const root = open(options)
  // LMDB makes it for everybody to read.
  if (!readOnly) chmodSync(join(path, DATA_FILE), FILE_MODE)
  assertTables(root)
  const text = <K extends Key | string>(name: string) => root.openDB<string, K>(name, TEXT)
  /** What is no index of the rest. */
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

/** For a process that copies the view and does nothing else, and whose end by a signal is told by another. Throws what lmdb throws. */
export const openToCopy = (path: string): RootDatabase => open({ path, ...DURABLE, readOnly: true })

/**
 * LMDB makes its lock file as long as it needs it and writes to it through memory: on a full disk, or where it may not be opened, that
 * is an end by a signal, without a word. So it is there before, on blocks of its own, and what keeps it from being so is thrown.
 */
export function makeLockFile(environment: string): void {
  const file = openSync(join(environment, LOCK_FILE), constants.O_RDWR | constants.O_CREAT, FILE_MODE)
  try {
    const { size } = fstatSync(file)
    if (size < LOCK_FILE_BYTES) writeSync(file, Buffer.alloc(LOCK_FILE_BYTES - size), 0, LOCK_FILE_BYTES - size, size)
  } finally {
    closeSync(file)
  }
}

/** Opened under its name, a table that is missing would be made: empty, as if nothing had ever been in it. A view that is made has none yet. */
function assertTables(root: RootDatabase): void {
  const found = new Set(root.getKeys() as Iterable<unknown>)
  const missing = Object.values(VIEW_TABLES).filter((name) => !found.has(name))
  if (missing.length === 0 || found.size === 0) return
  void root.close()
  const file = `view/${DATA_FILE}`
  throw new HomeRefused('corrupt', `${file} is damaged (it has no table ${missing}): put it back, or restore a backup`)
}

/**
 * Queued writes of one `batch` call are one transaction, committed and flushed by lmdb's writer thread. When it
 * fails, lmdb-js rejects more promises than the one it gives: one that the writes share, one of the event turn that
 * they began in, and one that hides the cause. Any of them that nobody took would end the process in mid-answer.
 */
async function batch(env: RootDatabase, write: () => void): Promise<void> {
  try {
    await env.batch(() => {
      write()
      env.committed.then(IGNORE, IGNORE)
      // Behind lmdb-js' own immediate, which the first write set.
      setImmediate(() => env.committed.then(IGNORE, IGNORE))
    })
  } catch (error) {
    const cause = (error as { commitError?: Promise<never> }).commitError
    throw cause === undefined ? error : await cause.catch((reason: unknown) => reason)
  }
}
