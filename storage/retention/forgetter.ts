/**
 * The part of retention that reads and removes rows. It decides nothing that others must know of: the journal raises
 * the floor between a look and a removal, and gives each removal its turn between two folds. So it can run in a
 * thread of its own (storage/view/view-thread.ts).
 */
import type { LogTables } from '../environments.ts'
import type { RemovedEntity, StoredEvent } from '../journal.ts'
import { type EventIdentity, identityOfEvent } from '../log/event-identity.ts'
import { type EventRow, EventRows, type LostRow } from '../log/event-rows.ts'
import type { LeavingEvent, View } from '../view/view.ts'
import { type ForgottenTimes, forgottenAt } from './forgotten-times.ts'

export interface Forgetter {
  /** Finds the oldest events that may go, at most TRIM_EVENTS_MAX, and keeps in mind what their removal takes. */
  look(at: Look): Promise<Oldest>
  /**
   * Takes the ids and the histories of the events that a look found before `next` out of the view. Resolves to true when that is on
   * disk, to false where it knows nothing of that look: another thread has looked, which has ended.
   */
  removeEvents(next: number): Promise<boolean>
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
  /** Nothing was recorded later than this. */
  readonly nowMs: number
}

export interface Oldest {
  readonly count: number
  /** Of these, those that cannot be read any more. */
  readonly lost: number
  /** The sequence behind the last one that goes. */
  readonly next: number
  /** They are below the floor already. */
  readonly areLeft: boolean
  /** There are more behind them. */
  readonly more: boolean
  readonly times: ForgottenTimes
}

/** Events that one step of retention removes. */
export const TRIM_EVENTS_MAX = 2_000
/** Texts read for one step: what is held in memory, and for how long the view waits. */
const TRIM_BYTES_MAX = 4 * 1024 * 1024
const NONE: Oldest = { count: 0, lost: 0, next: 0, areLeft: false, more: false, times: {} }

/**
 * By the event's own time. `unknown`: its row is damaged, or it is of the future, recorded by a clock that was wrong. Such an event is
 * as old as the next one whose time can be believed, which was recorded after it: it goes when that is old, and not before.
 */
type Age = 'old' | 'young' | 'unknown'

/** What is walked through, oldest first: an event, or the events of a row that cannot be read. */
interface Walked {
  readonly sequence: number
  /** The sequence behind it; undefined: of a row that cannot be read and has none behind it. */
  readonly next: number | undefined
  readonly text: string | undefined
}

/** What a step takes. */
interface Leaving {
  readonly events: readonly LeavingEvent[]
  readonly next: number
  readonly more: boolean
}

/** On the tables that it is given, in the thread that calls it. */
export class RowForgetter implements Forgetter {
  readonly #events: EventRows
  readonly #view: View
  #leaving: readonly LeavingEvent[] = []
  /** Where the last look ended; undefined: there was none, or what it found is removed. */
  #next: number | undefined

  constructor(log: Pick<LogTables, 'events'>, view: View) {
    this.#events = new EventRows(log.events)
    this.#view = view
  }

  async look(at: Look): Promise<Oldest> {
    const left = at.isCleared ? [] : this.#events.wholeBefore(at.floor, TRIM_EVENTS_MAX).flatMap(eventsOf)
    const areLeft = left.length > 0
    const { events, next, more } = areLeft ? gone(left) : this.#oldest(at)
    const count = areLeft ? events.length : next - at.floor
    if (count === 0) return NONE
    // Killed between its floor and its ids, an earlier step may have left those of a row that stayed.
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
    /** Of these so many certainly go, and with them all that is before this sequence. */
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
      // Only what is written behind this step can record it anew.
      if (identity !== undefined) leaving.push({ sequence: walked.sequence, identity, mayBeBack: false })
      if (age === 'unknown') continue
      certain = leaving.length
      next = walkedTo
    }
    if (more && next === floor && this.#isOldBehind(walkedTo, at)) return { events: leaving, next: walkedTo, more }
    return { events: leaving.slice(0, certain), next, more: more && next > floor }
  }

  /**
   * Whether the first event from `sequence` on whose time can be believed is old. It is searched for, ever further away and then
   * between: where a clock was wrong for days there are millions before it.
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

/** `identity`: undefined where it cannot be read. */
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

/** They are below the floor already. */
function gone(left: readonly StoredEvent[]): Leaving {
  return { events: left.map(goneBefore), next: left.at(-1)!.sequence + 1, more: true }
}

const eventsOf = ({ first, texts }: EventRow): StoredEvent[] => texts.map((text, i) => ({ sequence: first + i, text }))

const goneBefore = ({ sequence, text }: StoredEvent): LeavingEvent => ({
  sequence,
  identity: identityOfEvent(text),
  mayBeBack: true,
})
