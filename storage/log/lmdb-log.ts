/**
 * The log as it was up to schema 2: an LMDB environment. It is only read: as it is by read-only commands, and once by
 * the start that converts it to files (storage/log/log-files.ts).
 */
import { open } from 'lmdb'
import { checkedText } from '../checked-text.ts'
import type { LogTables } from '../environments.ts'
import { DURABLE } from '../view/lmdb-view.ts'

/** lmdb accepts an encoder here too; its types allow one for the root database only. */
const CHECKED_TEXT = { cache: false, encoder: checkedText }

/** Throws lmdb errors. */
export function openLmdbLog(path: string): LogTables {
  const root = open({ path, ...DURABLE, readOnly: true })
  const table = <K extends number | string>(name: string) => root.openDB<string, K>(name, CHECKED_TEXT)
  const numbered = (name: string): LogTables['events'] => {
    const rows = table<number>(name)
    return {
      get: (key, reading) => rows.get(key, reading as never),
      getKeys: (range) => rows.getKeys(range as never),
      getRange: (range) => rows.getRange(range as never),
      getKeysCount: (range) => rows.getKeysCount(range as never),
      append: unwritten,
      removeBefore: unwritten,
    }
  }
  const head = table<string>('head')
  return {
    env: {
      transactionSync: unwritten,
      sync() {},
      // Each read transaction sees the current state anyway.
      refresh() {},
      useReadTransaction: () => root.useReadTransaction(),
      close: () => root.close(),
    },
    events: numbered('events'),
    redo: numbered('redo'),
    head: { get: (name, reading) => head.get(name, reading as never), put: unwritten },
  }
}

function unwritten(): never {
  throw new Error('a log of an older schema is read-only')
}
