/**
 * Reads the log for lists, forwards or backwards: by the history of a trace or an item if the filter names one, else by
 * scanning. Also looks up an event in its trace. Invariant: one page reads a bounded number of rows, in turns shared
 * with others, and says where to continue; nothing that matches is skipped between two pages.
 */
import { SYSTEM_PROJECT } from '../../machines/envelope.ts'
import { idOfText } from '../../machines/events/event-text.ts'
import type { Journal } from '../../storage/journal.ts'
import { readFault } from '../../storage/read-fault.ts'
import { envelopeOfText } from './fields.ts'
import { Filter } from './filter.ts'
import { type Histories, HistoryWalk } from './history-walk.ts'
import { charsPerLook, charsPerTurnMax, lookUpRowsMax, rowsPerTurnMax } from './limits.ts'
import type { ReadTurns } from './read-turns.ts'

/** Rows read for one answer, matching or not: a short page beats a slow one (some 50 ms). */
const rowsReadMax = 20_000

/**
 * The longest search for one page: while others keep the turns long, a page is cut short rather than late. Does not
 * apply to look-ups by id, which have no page, nor to a confined reader's query for an item that may belong to others
 * only, until a visible event is found: where such a page ends must not reveal what is there.
 */
export const pageMsMax = 1_000

/** Text in one answer (a single event always fits). */
const answerCharsMax = 8 * 1024 * 1024

/** Sequences that a confined reader's page on an item spans: 0.25 s of reading if all of them are the item's. */
export const historyRowsMax = 100_000

type Log = Pick<
  Journal,
  | 'events'
  | 'eventsBackward'
  | 'history'
  | 'historyBackward'
  | 'event'
  | 'eventSequence'
  | 'hasTrace'
  | 'lastSequence'
  | 'oldestSequence'
>

/** The indexed events of one trace or item. */
interface History {
  readonly of: Histories['of']
  readonly id: string
}

export interface EventQuery {
  readonly filter: Filter
  readonly order: 'asc' | 'desc'
  /** Ascending: only events after this sequence; descending: only events before it. */
  readonly from: number
  readonly limit: number
  /** An index that holds every event the filter admits. */
  readonly hint?: Histories
}

export interface EventsFound {
  readonly texts: readonly string[]
  /** `from` of the next page; undefined if nothing more was there when this page was read. */
  readonly next?: number
  /** End of the log as of this page. */
  readonly lastSequence: number
}

/** Events after `from` had left the log, or left it while it was read. */
export class LeftTheLog extends Error {
  override readonly name = 'LeftTheLog'
}

/** The events chosen so far, up to the bounds of one answer. */
class Chosen {
  readonly texts: string[] = []
  readonly #query: EventQuery
  #chars = 0

  constructor(query: EventQuery) {
    this.#query = query
  }

  /** Adds the event if it matches. Returns whether more may be offered. */
  offer(text: string): boolean {
    if (this.#query.filter.matchesText(text)) {
      this.texts.push(text)
      this.#chars += text.length
    }
    return this.texts.length < this.#query.limit && this.#chars < answerCharsMax
  }
}

/**
 * A page of the events that the filter lets through.
 * @param isWanted asked between turns; once it returns false the search ends early with what it has
 * @throws LeftTheLog
 */
export async function findEvents(
  log: Log,
  turns: ReadTurns,
  query: EventQuery,
  isWanted: () => boolean,
): Promise<EventsFound> {
  const { platform } = turns
  const hint = query.hint === undefined ? undefined : await seen(log, turns, query.hint, query.filter, isWanted)
  const lastSequence = log.lastSequence
  const border = hint?.isSure === false ? borderOf(log, query) : undefined
  const to = border ?? (query.order === 'asc' ? lastSequence : 0)
  const walk = hint === undefined ? undefined : new HistoryWalk(log, hint, { ...query, to })
  const chosen = new Chosen(query)
  const found = (next: number | undefined): EventsFound =>
    next === undefined ? { texts: chosen.texts, lastSequence } : { texts: chosen.texts, next, lastSequence }
  let from = query.from
  const endMs = platform.monotonicMs() + pageMsMax
  // A page that ended among other projects' events would reveal them: its end is the same as if the item did not exist.
  const isAmongOthers = (): boolean => hint?.isSure === false && chosen.texts.length === 0
  const isEnough = (rows: number): boolean =>
    (rows >= rowsReadMax || platform.monotonicMs() >= endMs) && !isAmongOthers()
  // Most rows read match, so a first page of as many rows as are asked for is often enough.
  let pageRows = Math.min(query.limit, rowsPerTurnMax)
  let rows = 0
  let page: Rows | undefined
  /** How many events of the page have been offered. */
  let offered = 0
  const read = (): EventsFound | undefined => {
    try {
      page ??= walk === undefined ? scanned(log, query, from, pageRows) : indexed(log, walk, pageRows, turns)
    } catch (error) {
      // The page ends before the fault; the next page reports it.
      if (from === query.from || readFault(error) === undefined) throw error
      return found(from)
    }
    const { events, taken, isLast } = page
    for (let chars = 0; offered < events.length && (chars < charsPerLook || !turns.isOver); ) {
      if (chars >= charsPerLook) chars = 0
      const { sequence, text } = events[offered++]!
      from = sequence
      chars += text.length
      if (!chosen.offer(text)) return found(isLast && offered === events.length ? border : from)
    }
    if (offered === events.length) {
      rows += taken
      // Also moves past rows that are gone, so that the next page does not pass them again.
      from = page.upTo ?? from
      pageRows = rows < rowsReadMax ? Math.min(rowsPerTurnMax, rowsReadMax - rows) : rowsPerTurnMax
      page = undefined
      offered = 0
      if (isLast) return found(border)
    }
    return isWanted() && !isEnough(rows) ? undefined : found(from)
  }
  let answer = await turns.first(read)
  while (answer === undefined) answer = await turns.next(() => (isWanted() ? read() : found(from)))
  return answer
}

interface Rows {
  readonly events: readonly { readonly sequence: number; readonly text: string }[]
  /** Rows looked at, including those that are gone. */
  readonly taken: number
  readonly isLast: boolean
  /** With an index: the last row looked at. */
  readonly upTo?: number | undefined
}

function scanned(log: Log, query: EventQuery, from: number, limit: number): Rows {
  if (query.order === 'desc') {
    const { events, oldestSequence } = log.eventsBackward(from, limit, charsPerTurnMax)
    return { events, taken: events.length, isLast: (events.at(-1)?.sequence ?? 0) <= oldestSequence }
  }
  const page = log.events(from, limit, charsPerTurnMax)
  if (page.oldestSequence > from + 1) throw new LeftTheLog(`events after ${from} have been removed from the log`)
  const last = page.events.at(-1)?.sequence ?? page.lastSequence
  return { events: page.events, taken: page.events.length, isLast: last >= page.lastSequence }
}

/** Also ends with the turn's time: rows far apart lie in files whose offsets must be read first, some 10 ms each. */
function indexed(log: Pick<Log, 'event'>, walk: HistoryWalk, limit: number, turns: ReadTurns): Rows {
  const events: { sequence: number; text: string }[] = []
  let taken = 0
  let upTo: number | undefined
  let next = walk.next
  for (let chars = 0; next !== undefined && taken < limit && chars < charsPerTurnMax; taken++) {
    let text: string | undefined
    try {
      text = log.event(next)
    } catch (error) {
      if (events.length === 0) throw error
      break
    }
    if (text !== undefined) {
      events.push({ sequence: next, text })
      chars += text.length
    }
    walk.pass(next)
    upTo = next
    next = walk.next
    if (turns.isOver) {
      taken += 1
      break
    }
  }
  return { events, taken, isLast: next === undefined, upTo }
}

/** Where a page over a bounded span of the log ends, whatever it finds; undefined if it reaches the end. */
function borderOf(log: Log, { order, from }: EventQuery): number | undefined {
  const border = order === 'asc' ? from + historyRowsMax : from - historyRowsMax
  const isWithin = order === 'asc' ? border < log.lastSequence : border > log.oldestSequence
  return isWithin ? border : undefined
}

/** A hint without the histories known to hold nothing for the reader. */
interface SeenHint extends Histories {
  /** Every history in it is known to hold something visible. */
  readonly isSure: boolean
}

/**
 * A trace of other projects is left out, however long: the index of ids knows the traces of each project. It does not
 * know which projects mention an item, so an item whose first event is not visible may belong to others only.
 */
async function seen(
  log: Log,
  turns: ReadTurns,
  { of, ids }: Histories,
  { projects }: Filter,
  isWanted: () => boolean,
): Promise<SeenHint> {
  if (projects === undefined) return { of, ids, isSure: true }
  const visible = new Filter({}, projects)
  const kept: string[] = []
  let isSure = true
  for (const id of ids) {
    if (of === 'item') isSure &&= await turns.first(() => isFirstVisible(log, { of, id }, visible))
    if (of === 'item' || (await isAnyInTrace(log, turns, id, visible, isWanted))) kept.push(id)
  }
  return { of, ids: kept, isSure }
}

/**
 * Whether the trace holds a visible event. Some of the service's own events are for others, so they are read; a trace
 * with more events than a look-up reads counts as visible.
 */
async function isAnyInTrace(
  log: Log,
  turns: ReadTurns,
  id: string,
  visible: Filter,
  isWanted: () => boolean,
): Promise<boolean> {
  const trace = { of: 'trace', id } as const
  const known = await turns.first(() => {
    for (const project of visible.projects!) if (log.hasTrace(project, id)) return true
    if (!log.hasTrace(SYSTEM_PROJECT, id)) return false
    return isFirstVisible(log, trace, visible) || undefined
  })
  if (known !== undefined) return known
  for await (const { texts, isLast } of pagesOfHistory(log, turns, trace, lookUpRowsMax, isWanted)) {
    if (texts.some((text) => visible.matchesText(text))) return true
    if (isLast) return false
  }
  return true
}

function isFirstVisible(log: Pick<Log, 'event' | 'history'>, history: History, visible: Filter): boolean {
  const first = firstOf(log, history)
  return first !== undefined && visible.matchesText(first)
}

/** The oldest event that the log still holds; undefined if there is none, or it has just left. */
function firstOf(log: Pick<Log, 'event' | 'history'>, { of, id }: History): string | undefined {
  const [first] = log.history(of, id, 0, 1)
  return first === undefined ? undefined : log.event(first)
}

/** Result of a look-up. Without `text` the event is not among the rows read; `isWhole`: these were all there are. */
export interface EventFound {
  readonly text?: string
  readonly isWhole: boolean
}

/**
 * The event with this id in this trace that the filter lets through; each project may have recorded one.
 * @param isWanted asked between turns; once it returns false the look-up ends without an answer
 */
export async function findInTrace(
  log: Log,
  turns: ReadTurns,
  traceId: string,
  id: string,
  visible: Filter,
  isWanted: () => boolean,
): Promise<EventFound> {
  const known = await turns.first(() => indexedEvent(log, id, traceId, visible))
  if (known !== undefined) return { text: known, isWhole: true }
  if (visible.projects !== undefined && !(await isAnyInTrace(log, turns, traceId, visible, isWanted)))
    return { isWhole: true }
  const trace = { of: 'trace', id: traceId } as const
  for await (const { texts, isLast } of pagesOfHistory(log, turns, trace, lookUpRowsMax, isWanted)) {
    const text = texts.find((one) => idOfText(one) === id && visible.matchesText(one))
    if (text !== undefined) return { text, isWhole: true }
    if (isLast) return { isWhole: true }
  }
  return { isWhole: false }
}

interface HistoryPage {
  readonly texts: readonly string[]
  /** Sequence up to which the history has been read. */
  readonly upTo: number
  /** Nothing followed when it was read. */
  readonly isLast: boolean
}

/**
 * The texts of the events of a trace or an item, oldest first, in turns shared with others.
 * @param rowsMax no page is begun after this many events
 * @param isWanted asked between turns; once it returns false nothing more is read
 * @param after only events after this sequence
 */
export async function* pagesOfHistory(
  log: Pick<Log, 'event' | 'history' | 'historyBackward'>,
  turns: ReadTurns,
  { of, id }: History,
  rowsMax: number,
  isWanted: () => boolean,
  after = 0,
): AsyncGenerator<HistoryPage> {
  const walk = new HistoryWalk(log, { of, ids: [id] }, { order: 'asc', from: after, to: Number.POSITIVE_INFINITY })
  let upTo = after
  let rows = 0
  const read = (): Rows => indexed(log, walk, Math.min(rowsPerTurnMax, rowsMax - rows), turns)
  let isFirst = true
  while (rows < rowsMax) {
    const page = await (isFirst ? turns.first(read) : turns.next(() => (isWanted() ? read() : undefined)))
    if (page === undefined) return
    isFirst = false
    const { events, taken, isLast } = page
    upTo = page.upTo ?? upTo
    yield { texts: events.map(({ text }) => text), upTo, isLast }
    if (isLast) return
    rows += taken
  }
}

/** Looks the event up in the index of ids, which is kept by project. */
function indexedEvent(log: Log, id: string, traceId: string, visible: Filter): string | undefined {
  for (const project of visible.projects ?? firstProject(log, traceId)) {
    const sequence = log.eventSequence(project, traceId, id)
    const text = sequence === undefined ? undefined : log.event(sequence)
    if (text !== undefined && visible.matchesText(text)) return text
  }
  return undefined
}

/** A trace nearly always belongs to one project, that of its first event. */
function firstProject(log: Log, traceId: string): readonly string[] {
  const text = firstOf(log, { of: 'trace', id: traceId })
  return text === undefined ? [] : [envelopeOfText(text).project]
}
