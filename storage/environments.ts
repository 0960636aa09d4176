/**
 * The two LMDB environments of a home and their databases: the only file that knows lmdb. `log` is written by
 * transactionSync alone and `view` by the applier's batches alone, since one synchronous write splits an
 * asynchronous batch in two. Everything is opened here, once: an openDB later would be such a write.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { checkedText } from './checked-text.ts'

/** [kind, id] and the like; parts compare as numbers before strings, strings by their UTF-8. */
export type Key = (string | number | Uint8Array)[]

export interface LogTables {
  readonly env: RootDatabase
  /** Sequence number -> the event's text. */
  readonly events: Database<string, number>
  /** Batch number -> the batch (storage/redo.ts). */
  readonly redo: Database<string, number>
  /** HEAD_* -> text. */
  readonly head: Database<string, string>
}

export interface ViewTables {
  readonly env: RootDatabase
  /** [kind, id] -> the actor's record. */
  readonly snapshots: Database<string, Key>
  /** [kind, index, value, order, id] -> ''. */
  readonly entities: Database<string, Key>
  /** [kind, index, value] -> number of entities, decimal. */
  readonly counts: Database<string, Key>
  /** [project, trace id or '', event id] -> sequence, decimal. */
  readonly eventIds: Database<string, Key>
  /** ['trace' | 'item', id, first sequence] -> the further sequences (storage/history-chunk.ts). */
  readonly histories: Database<string, Key>
  /** [due ms, kind, id, name] -> JSON [generation, message]. */
  readonly timers: Database<string, Key>
  /** [sender kind, sender id, n] -> JSON [to kind, to id, message]. */
  readonly outbox: Database<string, Key>
  /** [scope, key] -> value. */
  readonly reservations: Database<string, Key>
  /** 'marker' -> JSON Marker. */
  readonly marker: Database<string, string>
}

export interface Environments {
  readonly log: LogTables
  readonly view: ViewTables
  close(): Promise<void>
}

export const HEAD_SCHEMA = 'schema'
export const HEAD_EPOCH = 'epoch'
/** `<last batch> <last sequence>`, written by every batch. */
export const HEAD_LAST = 'last'
/** First sequence that the log still holds. */
export const HEAD_FLOOR = 'floor'
export const MARKER = 'marker'

/** What the view holds: every batch up to `batch`, of the log `epoch`. */
export interface Marker {
  readonly epoch: string
  readonly batch: number
  readonly sequence: number
}

/** Sorts behind every string and number: the end of a range over a prefix. */
export const LAST_PART: Uint8Array = Uint8Array.of(0xff)

const DATABASES_MAX = 16
const DIRECTORY_MODE = 0o700

/**
 * With `overlappingSync` off, a commit is LMDB's own: data flushed, then the meta page written through O_DSYNC,
 * and the call (or the batch's promise) ends after both. With lmdb-js's default the promise comes before the
 * flush, and an error of the flush reaches nobody. Measured equally fast on this path.
 */
const DURABLE = { overlappingSync: false, maxDbs: DATABASES_MAX }

/** Paths of the two environments in a home. */
export function environmentPaths(home: string): { readonly log: string; readonly view: string } {
  return { log: join(home, 'log'), view: join(home, 'view') }
}

/** lmdb takes an encoder here too; its types say so for the root database only. */
const CHECKED_TEXT = { cache: false, encoder: checkedText }
const TEXT = { encoding: 'string' as const }

/**
 * Opens (and unless `readOnly` creates) both environments of a home. `check` sees the head before anything else is
 * opened or made, and throws to stop there. Throws what lmdb throws.
 */
export async function openEnvironments(
  home: string,
  check: (head: LogTables['head']) => void,
  readOnly = false,
): Promise<Environments> {
  const paths = environmentPaths(home)
  if (!readOnly) for (const path of [paths.log, paths.view]) mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE })
  const logEnv = open({ path: paths.log, ...DURABLE, readOnly })
  const checked = <K extends number | string>(name: string) => logEnv.openDB<string, K>(name, CHECKED_TEXT)
  const head = checked<string>('head')
  try {
    check(head)
  } catch (error) {
    await logEnv.close()
    throw error
  }
  const viewEnv = open({ path: paths.view, ...DURABLE, readOnly })
  const text = <K extends Key | string>(name: string) => viewEnv.openDB<string, K>(name, TEXT)
  return {
    log: { env: logEnv, events: checked('events'), redo: checked('redo'), head },
    view: {
      env: viewEnv,
      snapshots: text('snapshots'),
      entities: text('entities'),
      counts: text('counts'),
      eventIds: text('event_ids'),
      histories: text('histories'),
      timers: text('timers'),
      outbox: text('outbox'),
      reservations: text('idempotency'),
      marker: text('marker'),
    },
    async close() {
      await logEnv.close()
      await viewEnv.close()
    },
  }
}
