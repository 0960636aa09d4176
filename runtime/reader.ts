/**
 * Reads of committed data. They never pass through a mailbox and never see a step that is not durable: an entity is
 * read from its resident actor or the journal, a list from the view.
 */
import type { ActorKind, ActorRef, SnapshotOf } from '../machines/machine.ts'
import type { Journal } from '../storage/journal.ts'
import { type Platform, turn } from '../storage/platform.ts'
import type { ActorTable } from './actor.ts'
import type { ListRequest, ListResult, ListRow } from './api.ts'
import {
  listCharsPerPageMax,
  listCharsPerTurnMax,
  listCharsReadMax,
  listRowsPerTurnMax,
  listRowsReadMax,
} from './limits.ts'
import type { Logger } from './log.ts'
import { decodeRecord } from './record.ts'

/** The entity's record exists but this program cannot open it. */
export class Quarantined extends Error {
  override readonly name = 'Quarantined'
}

/**
 * The result of `find`, or `unreadable` if the record cannot be opened. For entities shown beside the one asked for: as
 * in every list, one bad entity must not hide the others. A caller that names the entity itself must see the error.
 */
export function readable<T, U = undefined>(find: () => T, unreadable?: U): T | U {
  try {
    return find()
  } catch (error) {
    if (error instanceof Quarantined) return unreadable as U
    throw error
  }
}

export class Reader {
  private readonly journal: Journal
  private readonly actors: ActorTable
  private readonly platform: Pick<Platform, 'nextTurn'>
  private readonly log: Logger

  constructor(journal: Journal, actors: ActorTable, platform: Pick<Platform, 'nextTurn'>, log: Logger) {
    this.journal = journal
    this.actors = actors
    this.platform = platform
    this.log = log
  }

  /** Undefined when the entity does not exist. Throws Quarantined. */
  read(ref: ActorRef): SnapshotOf<any> | undefined {
    const record = this.actors.peek(ref)
    if (record === undefined) throw new Quarantined(`The record of ${ref.kind} ${ref.id} cannot be read.`)
    return String(record.snapshot.value) === 'absent' ? undefined : record.snapshot
  }

  /**
   * Reads the index, in turns shared with other work, until the page is full, the index ends, or the read bounds are
   * reached. In the last case it reads on through all rows of equal order, so that `next` names none of them: the
   * caller may not be allowed to know of them.
   */
  async list(request: ListRequest): Promise<ListResult> {
    const { kind, index, value, limit, matches, downTo = '', looksAhead, waits } = request
    const snapshots: SnapshotOf<any>[] = []
    let { after } = request
    /** The last row of a full page, while it is not known whether a match follows. */
    let last: ListRow | undefined
    let sequence: number | undefined
    let charsRead = 0
    /** Characters of the records on the page. */
    let chars = 0
    for (let rowsRead = 0; ; ) {
      if (rowsRead > 0) await turn(this.platform)
      const rowsMax = Math.min(Math.max(limit - snapshots.length, 50), listRowsPerTurnMax)
      const query = { kind, index, value, limit: rowsMax, charsMax: listCharsPerTurnMax, reverse: true, waits }
      const page = await this.journal.list(after === undefined ? query : { ...query, after })
      // The first page's position in the log: watching from there misses nothing that a later page lacks.
      sequence ??= page.sequence
      for (const [index, row] of page.rows.entries()) {
        if (row.order < downTo) return { snapshots, sequence }
        const isEnough = rowsRead >= listRowsReadMax || charsRead >= listCharsReadMax
        if (isEnough && row.order !== after!.order) {
          return { snapshots, next: last ?? { order: after!.order, id: '' }, sequence }
        }
        rowsRead++
        charsRead += row.record.length
        after = { order: row.order, id: row.id }
        const snapshot = this.open(kind, row.id, row.record)
        if (snapshot === undefined || matches?.(snapshot) === false) continue
        if (last !== undefined) return { snapshots, next: last, sequence }
        snapshots.push(snapshot)
        chars += row.record.length
        if (snapshots.length < limit && chars < listCharsPerPageMax) continue
        if (looksAhead) {
          last = after
          continue
        }
        const isLast = !page.more && index === page.rows.length - 1
        return isLast ? { snapshots, sequence } : { snapshots, next: after, sequence }
      }
      if (!page.more) return { snapshots, sequence }
    }
  }

  /** Every entity under an index term, as it was when the service started. */
  *scan(kind: ActorKind, index: string, value: string): Iterable<{ ref: ActorRef; snapshot: SnapshotOf<any> }> {
    for (const row of this.journal.scan(kind, index, value)) {
      const snapshot = this.open(kind, row.id, row.record)
      if (snapshot !== undefined) yield { ref: { kind, id: row.id }, snapshot }
    }
  }

  /** Undefined if the record cannot be opened, which is logged: one bad entity must not hide the others. */
  open(kind: ActorKind, id: string, text: string): SnapshotOf<any> | undefined {
    try {
      return decodeRecord(this.actors.stepper(kind), text).snapshot
    } catch (error) {
      this.log.error({ kind, id, err: error }, 'a record cannot be read')
      return undefined
    }
  }
}
