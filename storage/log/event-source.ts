/**
 * The events of a home for who takes them out. The log alone is opened, and only read: the view is not looked at, nothing is
 * locked or written, and a service may run there. Where files of the log are damaged, or the disk does not give them, what can be read
 * of them is read.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { hasManifest } from '../copies/backup-manifest.ts'
import { HEAD_EPOCH, HEAD_FLOOR, HEAD_INCARNATIONS, HEAD_LAST, type LogTables } from '../environments.ts'
import { assertLogWhole } from '../home/home-checks.ts'
import { DATA_FILE, environmentPaths } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { assertSchema } from '../home/written-by.ts'
import { readFault } from '../read-fault.ts'
import { Salvage, type UnreadFile } from '../segments/salvage.ts'
import { type EventRow, EventRows } from './event-rows.ts'
import { openLog } from './log-files.ts'
import { identityIn, type LogIdentity } from './log-identity.ts'

/** Its epoch is empty where nothing of the log can be read, or there is none. */
export interface EventSource extends LogIdentity {
  /** The first and the last that are part of the log, as it says itself; where the newest file cannot be read, as the one before says. */
  readonly oldestSequence: number
  readonly lastSequence: number
  /** Files that the disk has not given so far, or not all of. */
  readonly unread: readonly UnreadFile[]
  /** From the row that holds the event on, in order, without what cannot be read. Throws CorruptRow of a log of an older schema. */
  rowsFrom(sequence: number): Iterable<EventRow>
  close(): Promise<void>
}

/** Rejects with HomeRefused, and with what the file system and lmdb say. */
export async function openEvents(home: string): Promise<EventSource> {
  const { log: folder } = environmentPaths(home)
  if (!(await assertLogWhole(home))) return { ...endsOf({}), unread: [], rowsFrom: () => [], close: async () => {} }
  const salvage = new Salvage(folder)
  try {
    return await openWhole(home, folder, salvage)
  } catch (error) {
    if (!maySalvage(error, folder)) throw error
  }
  const head = salvage.head()
  assertSchema({ get: (name) => head[name] }, home)
  const ends = endsOf(head)
  return {
    ...ends,
    get unread() {
      return salvage.unread
    },
    rowsFrom: (sequence) => salvage.rows(sequence, ends.lastSequence),
    close: async () => {},
  }
}

/** Of the files of this schema; what is wrong with an older log ends the reading. */
function maySalvage(error: unknown, folder: string): boolean {
  const isDamage = error instanceof HomeRefused ? error.code === 'corrupt' : readFault(error) === 'damaged'
  return isDamage && !existsSync(join(folder, DATA_FILE))
}

async function openWhole(home: string, folder: string, salvage: Salvage): Promise<EventSource> {
  // A service may run there, and remove what is to be read; not of a backup.
  const isUndisturbed = hasManifest(home)
  const { tables } = await openLog(folder, { readOnly: true, isUndisturbed }, (head) => assertSchema(head, home))
  try {
    return sourceOf(tables, folder, salvage)
  } catch (error) {
    await tables.env.close()
    throw error
  }
}

function sourceOf({ env, events, head }: LogTables, folder: string, salvage: Salvage): EventSource {
  // What a service has written and not flushed yet, or one that was killed, is on disk before it is taken out.
  env.sync()
  const transaction = env.useReadTransaction()
  const rows = new EventRows(events)
  const ends = endsOf({
    [HEAD_EPOCH]: head.get(HEAD_EPOCH, { transaction }),
    [HEAD_INCARNATIONS]: head.get(HEAD_INCARNATIONS, { transaction }),
    [HEAD_FLOOR]: head.get(HEAD_FLOOR, { transaction }),
    [HEAD_LAST]: head.get(HEAD_LAST, { transaction }),
  })
  return {
    ...ends,
    get unread() {
      return salvage.unread
    },
    *rowsFrom(sequence) {
      let next = sequence
      try {
        for (const row of rows.from(sequence, { transaction })) {
          next = row.first + row.texts.length
          yield row
        }
      } catch (error) {
        if (!maySalvage(error, folder)) throw error
        yield* salvage.rows(next, ends.lastSequence)
      }
    },
    async close() {
      transaction.done()
      await env.close()
    },
  }
}

function endsOf(head: Readonly<Record<string, string | undefined>>) {
  return {
    ...identityIn(head),
    oldestSequence: Number(head[HEAD_FLOOR] ?? 1),
    lastSequence: Number(head[HEAD_LAST]?.split(' ')[1] ?? 0),
  }
}
