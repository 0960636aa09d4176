/**
 * The tables of a home in LMDB: this file and storage/lmdb-copy.ts know lmdb. One synchronous write splits an asynchronous
 * batch in two, so `log` is written by transactionSync alone and `view` by batches alone. Everything is opened here,
 * once: an openDB later would be such a write.
 */
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { checkedRecord, checkedRow, checkedText } from './checked-text.ts'
import type { Environments, Key, LogTables, ViewTables } from './environments.ts'
import { flushFile } from './flush.ts'
import { DATA_FILE, environmentPaths } from './home-paths.ts'
import { type OnRepeat, repeated, repeatedSync } from './repeated-commit.ts'

const DATABASES_MAX = 16

/**
 * With `overlappingSync` off, a commit is LMDB's own: data flushed, then the meta page written through O_DSYNC,
 * and the call (or the batch's promise) ends after both. With lmdb-js's default the promise comes before the
 * flush, and an error of the flush reaches nobody. Measured equally fast on this path.
 */
const DURABLE = { overlappingSync: false, maxDbs: DATABASES_MAX }

/** lmdb takes an encoder here too; its types say so for the root database only. */
const CHECKED_TEXT = { cache: false, encoder: checkedText }
const CHECKED_ROW = { cache: false, encoder: checkedRow }
const CHECKED_RECORD = { cache: false, encoder: checkedRecord }
const TEXT = { encoding: 'string' as const }
const IGNORE = () => {}

/** The tables of environments that are open in this process already: for another of its threads. */
export async function openAgain(home: string, onRepeat: OnRepeat): Promise<OpenAgain> {
  const paths = environmentPaths(home)
  const log = await openLog(paths.log, false, onRepeat, IGNORE)
  const view = openView(paths.view, false, onRepeat)
  return {
    log: log.tables,
    view: view.tables,
    refresh() {
      log.root.resetReadTxn()
      view.root.resetReadTxn()
    },
    async close() {
      await log.root.close()
      await view.root.close()
    },
  }
}

export interface OpenAgain extends Pick<Environments, 'log' | 'view' | 'close'> {
  /** The next read sees what other threads have written; no snapshot is held until then. */
  refresh(): void
}

interface Opened<Tables> {
  readonly root: RootDatabase
  readonly tables: Tables
}

/**
 * Opens the log, or makes it. `check` sees the head before anything else is opened or made, and throws to stop there. Throws what
 * lmdb throws.
 */
export async function openLog(
  path: string,
  readOnly: boolean,
  onRepeat: OnRepeat,
  check: (head: LogTables['head']) => void,
): Promise<Opened<LogTables>> {
  const root = open({ path, ...DURABLE, readOnly })
  const checked = <K extends number | string>(name: string) => root.openDB<string, K>(name, CHECKED_TEXT)
  const head = checked<string>('head')
  try {
    check(head)
  } catch (error) {
    await root.close()
    throw error
  }
  const tables: LogTables = {
    env: {
      transactionSync: (write) => repeatedSync(() => root.transactionSync(write), onRepeat),
      sync: () => flushFile(join(path, DATA_FILE)),
      useReadTransaction: () => root.useReadTransaction(),
      close: () => root.close(),
    },
    events: checked('events'),
    redo: checked('redo'),
    head,
  }
  return { root, tables }
}

/** Opens the view, or makes it. Throws what lmdb throws. */
export function openView(path: string, readOnly: boolean, onRepeat: OnRepeat): Opened<ViewTables> {
  const root = open({ path, ...DURABLE, readOnly })
  const text = <K extends Key | string>(name: string) => root.openDB<string, K>(name, TEXT)
  /** What is no index of the rest. */
  const truth = <K extends Key | string>(name: string) => root.openDB<string, K>(name, CHECKED_ROW)
  const tables: ViewTables = {
    env: {
      commit: (write) => repeated(() => commit(root, write), onRepeat),
      useReadTransaction: () => root.useReadTransaction(),
      close: () => root.close(),
    },
    snapshots: root.openDB<string, Key>('snapshots', CHECKED_RECORD),
    entities: text('entities'),
    counts: text('counts'),
    eventIds: text('event_ids'),
    histories: text('histories'),
    timers: truth('timers'),
    outbox: truth('outbox'),
    reservations: truth('idempotency'),
    marker: truth('marker'),
  }
  return { root, tables }
}

/**
 * Queued writes of one `batch` call are one transaction, committed and flushed by lmdb's writer thread. When it
 * fails, lmdb-js rejects more promises than the one it gives: one that the writes share, one of the event turn that
 * they began in, and one that hides the cause. Any of them that nobody took would end the process in mid-answer.
 */
async function commit(env: RootDatabase, write: () => void): Promise<void> {
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
