/**
 * The events of a home, for exporting them. Only the log is opened, and only for reading: the view is not touched,
 * nothing is locked or written, and a service may be running on the home. Of damaged or unreadable log files,
 * everything that can still be read is read.
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

/** The epoch is empty if there is no log or nothing of it can be read. */
export interface EventSource extends LogIdentity {
  /**
   * The first and the last event according to the log's head; if the newest file cannot be read, according to the file
   * before it.
   */
  readonly oldestSequence: number
  readonly lastSequence: number
  /** Files that could not be read so far, or not completely. */
  readonly unread: readonly UnreadFile[]
  /**
   * Rows in order, from the one that holds the event, without those that cannot be read. Throws CorruptRow for a log
   * of an older schema.
   */
  rowsFrom(sequence: number): Iterable<EventRow>
  close(): Promise<void>
}

/** Rejects with HomeRefused, and with file system and lmdb errors. */
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

/** Only files of this schema can be salvaged; damage in an older log ends the reading. */
function maySalvage(error: unknown, folder: string): boolean {
  const isDamage = error instanceof HomeRefused ? error.code === 'corrupt' : readFault(error) === 'damaged'
  return isDamage && !existsSync(join(folder, DATA_FILE))
}

async function openWhole(home: string, folder: string, salvage: Salvage): Promise<EventSource> {
  // A running service may remove files that are about to be read; in a backup nobody does.
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
  // Flush what a running or killed service has written but not flushed yet, before it is exported.
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
