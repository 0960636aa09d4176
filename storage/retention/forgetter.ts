/**
 * The part of retention that reads and removes rows. It makes no decision that others depend on: the journal raises
 * the floor between a look and a removal, and runs each removal between two folds. So it can run in a thread of its
 * own (storage/view/view-thread.ts).
 */
import type { LogTables } from '../environments.ts'
import type { RemovedEntity, StoredEvent } from '../journal.ts'
import { type EventIdentity, identityOfEvent } from '../log/event-identity.ts'
import { type EventRow, EventRows, type LostRow } from '../log/event-rows.ts'
import type { LeavingEvent, View } from '../view/view.ts'
import { type ForgottenTimes, forgottenAt } from './forgotten-times.ts'

export interface Forgetter {
  /** Finds the oldest events that may go, at most TRIM_EVENTS_MAX, and remembers what their removal needs. */
  look(at: Look): Promise<TrimCandidates>
  /**
   * Removes from the view the ids and histories of the events before `next` that the last look found. Resolves to true
   * when that is on disk. Resolves to false if this forgetter did not make that look, because the thread that did has
   * ended.
   */
  removeEvents(next: number): Promise<boolean>
  /** Removes entities from the view. Resolves to how many existed. */
  removeEntities(entities: readonly RemovedEntity[]): Promise<number>
  /** Resolves when nothing of the home is in use any more. */
  close(): Promise<void>
}

/** Where to look for events that may go. */
export interface Look {
  /** First sequence that the log still holds. */
  readonly floor: number
  /** Only rows are left below the floor. Otherwise an earlier process may have been killed during a removal. */
  readonly isCleared: boolean
  /** Events from this sequence on stay. */
  readonly end: number
  /** Events recorded at this time (milliseconds since the epoch) or later stay. */
  readonly recordedBeforeMs: number
  /** The present time: an event recorded later than this has a wrong time. */
  readonly nowMs: number
}

export interface TrimCandidates {
  readonly count: number
  /** How many of these cannot be read any more. */
  readonly lost: number
  /** The sequence after the last event to remove. */
  readonly next: number
  /** These events are below the floor already. */
  readonly areLeft: boolean
  /** There are more to remove after these. */
  readonly more: boolean
  readonly times: ForgottenTimes
}

/** Most events that one step of retention removes. */
export const TRIM_EVENTS_MAX = 2_000
/** Most text read for one step; it bounds memory, and how long the view has to wait. */
const TRIM_BYTES_MAX = 4 * 1024 * 1024
const NONE: TrimCandidates = { count: 0, lost: 0, next: 0, areLeft: false, more: false, times: {} }

/**
 * Age by the event's own time. `unknown`: its row is damaged, or its time is in the future because a clock was wrong.
 * Such an event counts as old as the next one with a credible time, which was recorded after it: it goes only with
 * that one.
 */
type Age = 'old' | 'young' | 'unknown'

/** One unit of the walk, oldest first: an event, or all events of an unreadable row. */
interface Walked {
  readonly sequence: number
  /** The sequence after it; undefined for an unreadable row with none after it. */
  readonly next: number | undefined
  readonly text: string | undefined
}

/** What one step removes. */
interface Leaving {
  readonly events: readonly LeavingEvent[]
  readonly next: number
  readonly more: boolean
}

/** Works on the given tables, in the calling thread. */
export class RowForgetter implements Forgetter {
  readonly #events: EventRows
  readonly #view: View
  #leaving: readonly LeavingEvent[] = []
  /** Where the last look ended; undefined if there was none, or if its events are removed. */
  #next: number | undefined

  constructor(log: Pick<LogTables, 'events'>, view: View) {
    this.#events = new EventRows(log.events)
    this.#view = view
  }

  async look(at: Look): Promise<TrimCandidates> {
    const left = at.isCleared ? [] : this.#events.wholeBefore(at.floor, TRIM_EVENTS_MAX).flatMap(eventsOf)
    const areLeft = left.length > 0
    const { events, next, more } = areLeft ? gone(left) : this.#oldest(at)
    const count = areLeft ? events.length : next - at.floor
    if (count === 0) return NONE
    // A step that was killed after raising the floor may have left ids and histories of events in a row that stayed.
    const part = at.isCleared ? [] : this.#events.partBefore(at.floor).map(goneBefore)
    this.#leaving = [...part, ...events]
    this.#next = next
    const times = forgottenAt(
      events.map(({ identity }) => identity.recordedMs),
      at.nowMs,
    )
    return { count, lost: count - events.length, next, areLeft, more, times }
  }

  async removeEvents(next: number): Promise<boolean> {
    if (this.#next !== next) return false
    await this.#view.removeEvents(this.#leaving, next)
    this.#leaving = []
    this.#next = undefined
    return true
  }

  removeEntities(entities: readonly RemovedEntity[]): Promise<number> {
    return this.#view.removeEntities(entities)
  }

  async close(): Promise<void> {}

  #oldest(at: Look): Leaving {
    const { floor, end } = at
    const leaving: LeavingEvent[] = []
    /** How many of `leaving` certainly go; with them goes everything before `next`. */
    let certain = 0
    let next = floor
    let chars = 0
    let walkedTo = floor
    let more = false
    for (const walked of walk(this.#events.each(floor), floor)) {
      if (walked.next === undefined || walked.next > end) break
      chars += walked.text?.length ?? 0
      more = walkedTo > floor && (walkedTo - floor >= TRIM_EVENTS_MAX || chars > TRIM_BYTES_MAX)
      if (more) break
      const identity = walked.text === undefined ? undefined : identityOfEvent(walked.text)
      const age = ageOf(identity, at)
      if (age === 'young') break
      walkedTo = walked.next
      // Its id can be recorded again only after this step.
      if (identity !== undefined) leaving.push({ sequence: walked.sequence, identity, mayBeBack: false })
      if (age === 'unknown') continue
      certain = leaving.length
      next = walkedTo
    }
    if (more && next === floor && this.#isOldBehind(walkedTo, at)) return { events: leaving, next: walkedTo, more }
    return { events: leaving.slice(0, certain), next, more: more && next > floor }
  }

  /**
   * Whether the first event from `sequence` on with a credible time is old. An exponential search and then a binary
   * one, since a clock that was wrong for days leaves millions of events before it.
   */
  #isOldBehind(sequence: number, at: Look): boolean {
    let unknown = sequence - 1
    let known: number | undefined
    for (let by = 1; known === undefined; by *= 2) {
      const further = Math.min(unknown + by, at.end - 1)
      if (further === unknown) return false
      if (this.#ageAt(further, at) === 'unknown') unknown = further
      else known = further
    }
    while (known - unknown > 1) {
      const between = Math.floor((unknown + known) / 2)
      if (this.#ageAt(between, at) === 'unknown') unknown = between
      else known = between
    }
    return this.#ageAt(known, at) === 'old'
  }

  #ageAt(sequence: number, at: Look): Age {
    for (const { first, texts } of this.#events.each(sequence)) {
      const text = texts?.[sequence - first]
      return ageOf(text === undefined ? undefined : identityOfEvent(text), at)
    }
    return 'unknown'
  }
}

/** `identity`: undefined if the event cannot be read. */
function ageOf(identity: EventIdentity | undefined, { recordedBeforeMs, nowMs }: Look): Age {
  if (recordedBeforeMs === Number.POSITIVE_INFINITY) return 'old'
  if (identity === undefined || !(identity.recordedMs <= nowMs)) return 'unknown'
  return identity.recordedMs < recordedBeforeMs ? 'old' : 'young'
}

/** The events from `floor` on, one by one. */
function* walk(rows: Iterable<EventRow | LostRow>, floor: number): Generator<Walked> {
  for (const row of rows) {
    if (row.texts === undefined) {
      yield { sequence: Math.max(row.first, floor), next: row.next, text: undefined }
      continue
    }
    for (let i = Math.max(0, floor - row.first); i < row.texts.length; i += 1)
      yield { sequence: row.first + i, next: row.first + i + 1, text: row.texts[i]! }
  }
}

/** For events that are below the floor already. */
function gone(left: readonly StoredEvent[]): Leaving {
  return { events: left.map(goneBefore), next: left.at(-1)!.sequence + 1, more: true }
}

const eventsOf = ({ first, texts }: EventRow): StoredEvent[] => texts.map((text, i) => ({ sequence: first + i, text }))

const goneBefore = ({ sequence, text }: StoredEvent): LeavingEvent => ({
  sequence,
  identity: identityOfEvent(text),
  mayBeBack: true,
})
