/**
 * The part of retention that reads and removes rows. It decides nothing that others must know of: the journal raises
 * the floor between a look and a removal, and gives each removal its turn between two folds. So it can run in a
 * thread of its own (storage/forgetting-thread.ts).
 */
import type { LogTables } from './environments.ts'
import { type EventRow, EventRows, pageOf } from './event-rows.ts'
import { identityOfEvent } from './identity.ts'
import type { RemovedEntity, StoredEvent } from './journal.ts'
import type { LeavingEvent, View } from './view.ts'

export interface Forgetter {
  /** Finds the oldest events that may go, at most TRIM_EVENTS_MAX, and keeps in mind what their removal takes. */
  look(at: Look): Promise<Oldest>
  /** Takes the ids and the histories of the events of the last look out of the view. Resolves when that is on disk. */
  removeEvents(): Promise<void>
  /** Takes entities out of the view. Resolves to how many there were. */
  removeEntities(entities: readonly RemovedEntity[]): Promise<number>
  /** Resolves when nothing of the home is in use any more. */
  close(): Promise<void>
}

/** Where to look for events that may go. */
export interface Look {
  /** First sequence that the log still holds. */
  readonly floor: number
  /** Nothing but rows is left below the floor. Else an earlier process may have been killed in the middle of a removal. */
  readonly isCleared: boolean
  /** Events from this sequence on stay. */
  readonly end: number
  /** Events recorded at this time (milliseconds since the epoch) or later stay. */
  readonly recordedBeforeMs: number
}

export interface Oldest {
  readonly count: number
  /** The sequence behind the last one that goes. */
  readonly next: number
  /** They are below the floor already. */
  readonly areLeft: boolean
  /** There are more behind them. */
  readonly more: boolean
}

/** Events that one step of retention removes. */
export const TRIM_EVENTS_MAX = 2_000
/** Texts read for one step: what is held in memory, and for how long the view waits. */
const TRIM_BYTES_MAX = 4 * 1024 * 1024
const NONE: Oldest = { count: 0, next: 0, areLeft: false, more: false }

/** On the tables that it is given, in the thread that calls it. */
export class RowForgetter implements Forgetter {
  readonly #events: EventRows
  readonly #view: View
  #leaving: readonly LeavingEvent[] = []
  #next = 0

  constructor(log: Pick<LogTables, 'events'>, view: View) {
    this.#events = new EventRows(log.events)
    this.#view = view
  }

  async look(at: Look): Promise<Oldest> {
    const left = at.isCleared ? [] : this.#events.wholeBefore(at.floor, TRIM_EVENTS_MAX).flatMap(eventsOf)
    const { leaving, more } = left.length > 0 ? { leaving: left.map(goneBefore), more: true } : this.#oldest(at)
    if (leaving.length === 0) return NONE
    // Killed between its floor and its ids, an earlier step may have left those of a row that stayed.
    const part = at.isCleared ? [] : this.#events.partBefore(at.floor).map(goneBefore)
    this.#leaving = [...part, ...leaving]
    this.#next = leaving.at(-1)!.sequence + 1
    return { count: leaving.length, next: this.#next, areLeft: left.length > 0, more }
  }

  async removeEvents(): Promise<void> {
    await this.#view.removeEvents(this.#leaving, this.#next)
    this.#leaving = []
  }

  removeEntities(entities: readonly RemovedEntity[]): Promise<number> {
    return this.#view.removeEntities(entities)
  }

  async close(): Promise<void> {}

  #oldest({ floor, end, recordedBeforeMs }: Look): { leaving: readonly LeavingEvent[]; more: boolean } {
    const events = pageOf(this.#events, floor, TRIM_EVENTS_MAX, TRIM_BYTES_MAX)
    const leaving: LeavingEvent[] = []
    for (const { sequence, text } of events) {
      const identity = sequence < end ? identityOfEvent(text) : undefined
      if (identity === undefined || identity.recordedMs >= recordedBeforeMs) return { leaving, more: false }
      // Only what is written behind this step can record it anew.
      leaving.push({ sequence, identity, mayBeBack: false })
    }
    return { leaving, more: leaving.length > 0 && leaving.at(-1)!.sequence + 1 < end }
  }
}

const eventsOf = ({ first, texts }: EventRow): StoredEvent[] => texts.map((text, i) => ({ sequence: first + i, text }))

const goneBefore = ({ sequence, text }: StoredEvent): LeavingEvent => ({
  sequence,
  identity: identityOfEvent(text),
  mayBeBack: true,
})
