/**
 * The environments on LMDB, in a folder: this file and storage/lmdb-copy.ts know lmdb. One synchronous write splits an asynchronous
 * batch in two, so `log` is written by transactionSync alone and `view` by batches alone. Everything is opened here,
 * once: an openDB later would be such a write.
 */
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { checkedRecord, checkedRow, checkedText } from './checked-text.ts'
import { beginCreation, type Creation, isNewHome } from './creation.ts'
import { freeBytesOf } from './disk-reserve.ts'
import { type Environments, HEAD_EPOCH, type Key, type LogTables, type Medium } from './environments.ts'
import { flushFile } from './flush.ts'
import { assertWhole } from './home-checks.ts'
import { DATA_FILE, environmentPaths } from './home-paths.ts'
import { lockInstance } from './instance-lock.ts'
import { HomeCopy } from './lmdb-copy.ts'
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

/** A folder of this machine's file system. */
export function lmdbMedium(home: string, onRepeat: OnRepeat = IGNORE): Medium {
  return {
    home,
    get isNew() {
      return isNewHome(home)
    },
    freeBytes: freeBytesOf(home),
    lock: () => lockInstance(home),
    assertWhole: () => assertWhole(home),
    open: (check) => openEnvironments(home, check, false, onRepeat),
  }
}

/**
 * Opens (and unless `readOnly` creates) both environments of a home. `check` sees the head before anything else is
 * opened or made, and throws to stop there. Throws what lmdb throws.
 */
export async function openEnvironments(
  home: string,
  check: (head: LogTables['head']) => void,
  readOnly = false,
  onRepeat: OnRepeat = IGNORE,
): Promise<Environments> {
  const paths = environmentPaths(home)
  const creations: Creation[] = []
  if (!readOnly) creations.push(beginCreation(paths.log))
  const logEnv = open({ path: paths.log, ...DURABLE, readOnly })
  const checked = <K extends number | string>(name: string) => logEnv.openDB<string, K>(name, CHECKED_TEXT)
  const head = checked<string>('head')
  try {
    check(head)
  } catch (error) {
    await logEnv.close()
    throw error
  }
  // A view beside an unfinished log is of that log, and goes with it.
  if (!readOnly) creations.push(beginCreation(paths.view, creations[0]!.isAgain))
  const viewEnv = open({ path: paths.view, ...DURABLE, readOnly })
  const text = <K extends Key | string>(name: string) => viewEnv.openDB<string, K>(name, TEXT)
  /** What is no index of the rest. */
  const truth = <K extends Key | string>(name: string) => viewEnv.openDB<string, K>(name, CHECKED_ROW)
  const environments: Environments = {
    log: {
      env: {
        transactionSync: (write) => repeatedSync(() => logEnv.transactionSync(write), onRepeat),
        sync: () => flushFile(join(paths.log, DATA_FILE)),
        useReadTransaction: () => logEnv.useReadTransaction(),
        close: () => logEnv.close(),
      },
      events: checked('events'),
      redo: checked('redo'),
      head,
    },
    view: {
      env: {
        commit: (write) => repeated(() => commit(viewEnv, write), onRepeat),
        useReadTransaction: () => viewEnv.useReadTransaction(),
        close: () => viewEnv.close(),
      },
      snapshots: viewEnv.openDB<string, Key>('snapshots', CHECKED_RECORD),
      entities: text('entities'),
      counts: text('counts'),
      eventIds: text('event_ids'),
      histories: text('histories'),
      timers: truth('timers'),
      outbox: truth('outbox'),
      reservations: truth('idempotency'),
      marker: truth('marker'),
    },
    copyTo: (directory) => new HomeCopy(home, { log: logEnv, view: viewEnv }, directory, head.get(HEAD_EPOCH)!),
    async close() {
      await logEnv.close()
      await viewEnv.close()
    },
  }
  // The log first: a view without its log is refused, and a log without its view makes it.
  for (const creation of creations) creation.finish()
  return environments
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
