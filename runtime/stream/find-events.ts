/**
 * Reading the log for lists, forwards or backwards, by the history of a trace or an item where the filter names one,
 * else by scanning; and for the look-up of an event in its trace. Invariant: one page reads a bounded number of rows,
 * in turns that others share, and says where to go on: nothing that matches is skipped between two pages.
 */
import { SYSTEM_PROJECT } from '../../machines/envelope.ts'
import { idOfText } from '../../machines/events/event-text.ts'
import type { Journal } from '../../storage/journal.ts'
import { turn } from '../../storage/nature.ts'
import { readFault } from '../../storage/read-fault.ts'
import type { Nature } from '../api.ts'
import { envelopeOfText } from './fields.ts'
import { Filter } from './filter.ts'
import { type Histories, HistoryWalk } from './history-walk.ts'
import { charsPerTurnMax, lookUpRowsMax, rowsPerTurnMax } from './limits.ts'

/** Rows read for one answer, matching or not: a page is short rather than slow (some 50 ms). */
const rowsReadMax = 20_000

/**
 * The longest search for one page: while others keep the turns long, a page is short rather than late. Look-ups by id
 * have no page to cut short; nor has what a confined reader asks of an item that may be of others alone, until something of it
 * may be seen: where such a page ends must not tell what is there.
 */
export const pageMsMax = 1_000

/** Text in one answer (a single event always fits). */
const answerCharsMax = 8 * 1024 * 1024

/** How far along the log one page looks for what a confined reader may see of an item: 0.25 s of reading where all of it is the item's. */
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

/** What is indexed of one trace or item. */
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
  /** An index that holds every event of the filter. */
  readonly hint?: Histories
}

export interface EventsFound {
  readonly texts: readonly string[]
  /** `from` of the next page; undefined: there was nothing more when this page was read. */
  readonly next?: number
  /** The end of the log for which this is true. */
  readonly lastSequence: number
}

/** Events after `from` have left the log while it was read, or before. */
export class LeftTheLog extends Error {
  override readonly name = 'LeftTheLog'
}

/** What has been chosen so far, and whether that is enough. */
class Chosen {
  readonly texts: string[] = []
  readonly #query: EventQuery
  #chars = 0

  constructor(query: EventQuery) {
    this.#query = query
  }

  /** Whether more may be offered. */
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
 * @param isWanted asked between turns; once false the search ends early with what it has
 * @throws LeftTheLog
 */
export async function findEvents(
  log: Log,
  nature: Nature,
  query: EventQuery,
  isWanted: () => boolean,
): Promise<EventsFound> {
  const hint = query.hint === undefined ? undefined : await seen(log, nature, query.hint, query.filter, isWanted)
  const lastSequence = log.lastSequence
  const border = hint?.isSure === false ? borderOf(log, query) : undefined
  const to = border ?? (query.order === 'asc' ? lastSequence : 0)
  const walk = hint === undefined ? undefined : new HistoryWalk(log, hint, { ...query, to })
  const chosen = new Chosen(query)
  const found = (next: number | undefined): EventsFound =>
    next === undefined ? { texts: chosen.texts, lastSequence } : { texts: chosen.texts, next, lastSequence }
  let from = query.from
  const endMs = nature.monotonicMs() + pageMsMax
  // A page that ended among what is of others alone would tell of it: its border is the same for an item that is not there.
  const isAmongOthers = (): boolean => hint?.isSure === false && chosen.texts.length === 0
  const isEnough = (rows: number): boolean => (rows >= rowsReadMax || nature.monotonicMs() >= endMs) && !isAmongOthers()
  // Most events that are looked at match: a first page of as many as are asked for is often enough.
  let pageRows = Math.min(query.limit, rowsPerTurnMax)
  for (let rows = 0; ; pageRows = rowsPerTurnMax) {
    let page: Rows
    try {
      page = walk === undefined ? scanned(log, query, from, pageRows) : indexed(log, walk, pageRows)
    } catch (error) {
      // What comes before it is answered, and the next page tells of it.
      if (from === query.from || readFault(error) === undefined) throw error
      return found(from)
    }
    for (const [i, { sequence, text }] of page.events.entries()) {
      from = sequence
      if (!chosen.offer(text)) return found(page.isLast && i === page.events.length - 1 ? border : from)
    }
    rows += page.taken
    if (page.isLast) return found(border)
    if (!isWanted() || isEnough(rows)) return found(from)
    await turn(nature)
  }
}

interface Rows {
  readonly events: readonly { readonly sequence: number; readonly text: string }[]
  /** Rows looked at, also such that are not there any more. */
  readonly taken: number
  readonly isLast: boolean
}

function scanned(log: Log, query: EventQuery, from: number, limit: number): Rows {
  if (query.order === 'desc') {
    const { events, oldestSequence } = log.eventsBackward(from, limit, charsPerTurnMax)
    return { events, taken: events.length, isLast: (events.at(-1)?.sequence ?? 0) <= oldestSequence }
  }
  const page = log.events(from, limit, charsPerTurnMax)
  if (page.oldestSequence > from + 1) throw new LeftTheLog(`events after ${from} have left the log`)
  const last = page.events.at(-1)?.sequence ?? page.lastSequence
  return { events: page.events, taken: page.events.length, isLast: last >= page.lastSequence }
}

function indexed(log: Pick<Log, 'event'>, walk: HistoryWalk, limit: number): Rows {
  const events: { sequence: number; text: string }[] = []
  let taken = 0
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
    next = walk.next
  }
  return { events, taken, isLast: next === undefined }
}

/** Where a page ends that looks along the log, whatever it finds; undefined: it comes to the end. */
function borderOf(log: Log, { order, from }: EventQuery): number | undefined {
  const border = order === 'asc' ? from + historyRowsMax : from - historyRowsMax
  const isWithin = order === 'asc' ? border < log.lastSequence : border > log.oldestSequence
  return isWithin ? border : undefined
}

/** A hint without what is known to hold nothing for the reader. */
interface SeenHint extends Histories {
  /** All of it is known to hold something. */
  readonly isSure: boolean
}

/**
 * A trace of others is none, however long it is: the index of ids knows of the traces of each project. Of an item it does not
 * know who speaks of it: unless its first event is visible, it may be one of others alone.
 */
async function seen(
  log: Log,
  nature: Nature,
  { of, ids }: Histories,
  { projects }: Filter,
  isWanted: () => boolean,
): Promise<SeenHint> {
  if (projects === undefined) return { of, ids, isSure: true }
  const visible = new Filter({}, projects)
  const kept: string[] = []
  let isSure = true
  let looks = 0
  for (const id of ids) {
    if (of === 'item') isSure &&= isFirstVisible(log, { of, id }, visible)
    if (of === 'item' || (await isAnyInTrace(log, nature, id, visible, isWanted))) kept.push(id)
    looks += projects.size
    if (looks < rowsPerTurnMax) continue
    looks = 0
    await turn(nature)
  }
  return { of, ids: kept, isSure }
}

/**
 * Whether the trace holds an event that is visible. Of the service's own events some are for others: they are read, and of
 * more than a look-up reads it is taken to be so.
 */
async function isAnyInTrace(
  log: Log,
  nature: Nature,
  id: string,
  visible: Filter,
  isWanted: () => boolean,
): Promise<boolean> {
  for (const project of visible.projects!) if (log.hasTrace(project, id)) return true
  if (!log.hasTrace(SYSTEM_PROJECT, id)) return false
  const trace = { of: 'trace', id } as const
  if (isFirstVisible(log, trace, visible)) return true
  for await (const { texts, isLast } of pagesOfHistory(log, nature, trace, lookUpRowsMax, isWanted)) {
    if (texts.some((text) => visible.matchesText(text))) return true
    if (isLast) return false
  }
  return true
}

function isFirstVisible(log: Pick<Log, 'event' | 'history'>, history: History, visible: Filter): boolean {
  const first = firstOf(log, history)
  return first !== undefined && visible.matchesText(first)
}

/** The oldest event that the log still holds; undefined: there is none, or it has left meanwhile. */
function firstOf(log: Pick<Log, 'event' | 'history'>, { of, id }: History): string | undefined {
  const [first] = log.history(of, id, 0, 1)
  return first === undefined ? undefined : log.event(first)
}

/** What a look-up found: the event's text; undefined when it is not among the rows read, which `isWhole` says were all there are. */
export interface EventFound {
  readonly text?: string
  readonly isWhole: boolean
}

/**
 * The event with this id in this trace that the filter lets through: each project may have recorded one.
 * @param isWanted asked between turns; once false the look-up ends without an answer
 */
export async function findInTrace(
  log: Log,
  nature: Nature,
  traceId: string,
  id: string,
  visible: Filter,
  isWanted: () => boolean,
): Promise<EventFound> {
  const known = indexedEvent(log, id, traceId, visible)
  if (known !== undefined) return { text: known, isWhole: true }
  if (visible.projects !== undefined && !(await isAnyInTrace(log, nature, traceId, visible, isWanted)))
    return { isWhole: true }
  const trace = { of: 'trace', id: traceId } as const
  for await (const { texts, isLast } of pagesOfHistory(log, nature, trace, lookUpRowsMax, isWanted)) {
    const text = texts.find((one) => idOfText(one) === id && visible.matchesText(one))
    if (text !== undefined) return { text, isWhole: true }
    if (isLast) return { isWhole: true }
  }
  return { isWhole: false }
}

interface HistoryPage {
  readonly texts: readonly string[]
  /** Sequence up to which it has been read. */
  readonly upTo: number
  /** There was nothing more of it when it was read. */
  readonly isLast: boolean
}

/**
 * The texts of the events of a trace or an item, oldest first, in turns that others share.
 * @param rowsMax no page is begun behind so many events
 * @param isWanted asked between turns; once false nothing more is read
 * @param after only events after this sequence
 */
export async function* pagesOfHistory(
  log: Pick<Log, 'event' | 'history' | 'historyBackward'>,
  nature: Pick<Nature, 'nextTurn'>,
  { of, id }: History,
  rowsMax: number,
  isWanted: () => boolean,
  after = 0,
): AsyncGenerator<HistoryPage> {
  const walk = new HistoryWalk(log, { of, ids: [id] }, { order: 'asc', from: after, to: Number.POSITIVE_INFINITY })
  let upTo = after
  for (let rows = 0; rows < rowsMax; ) {
    const { events, taken, isLast } = indexed(log, walk, rowsPerTurnMax)
    upTo = events.at(-1)?.sequence ?? upTo
    yield { texts: events.map(({ text }) => text), upTo, isLast }
    if (isLast) return
    rows += taken
    await turn(nature)
    if (!isWanted()) return
  }
}

/** By the index of ids, which is kept by project. */
function indexedEvent(log: Log, id: string, traceId: string, visible: Filter): string | undefined {
  for (const project of visible.projects ?? firstProject(log, traceId)) {
    const sequence = log.eventSequence(project, traceId, id)
    const text = sequence === undefined ? undefined : log.event(sequence)
    if (text !== undefined && visible.matchesText(text)) return text
  }
  return undefined
}

/** Nearly always the trace is of one project, and that is the one of its first event. */
function firstProject(log: Log, traceId: string): readonly string[] {
  const text = firstOf(log, { of: 'trace', id: traceId })
  return text === undefined ? [] : [envelopeOfText(text).project]
}
