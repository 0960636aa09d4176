/** Which run requests a trace belongs to: used when a trace is read, and when its events are ingested. */
import { isId } from '../../machines/ids.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { Runtime, SnapshotOf } from '../../runtime/api.ts'
import { readable } from '../../runtime/reader.ts'
import { envelopeOfText } from '../../runtime/stream/fields.ts'
import { pagesOfHistory } from '../../runtime/stream/find-events.ts'

/** The first events of a trace belong to its run request; no more than this many are searched for further ones. */
const eventsSearchedMax = 10_000
/** Bound on the text searched: with large events a bound on their number is not enough. */
const charsSearchedMax = 64 * 1024 * 1024
/**
 * Traces whose search result is cached, so that each further page, and each look at a growing trace, continues the
 * search.
 */
const tracesRememberedMax = 100
/** Most traces have one run; those with more runs than this are searched anew each time. */
const runsRememberedMax = 256

export interface RunOfTrace {
  readonly id: string
  readonly snapshot: SnapshotOf<RunRequestContext> | 'unreadable'
}

/** How far a trace was searched. */
interface Searched {
  /** Run requests that its events belong to. */
  readonly ids: ReadonlySet<string>
  readonly upTo: number
  readonly events: number
  readonly chars: number
}

const UNSEARCHED: Searched = { ids: new Set(), upTo: 0, events: 0, chars: 0 }
const searches = new WeakMap<Runtime['journal'], Map<string, Searched>>()

function searchesOf(journal: Runtime['journal']): Map<string, Searched> {
  const known = searches.get(journal) ?? new Map<string, Searched>()
  searches.set(journal, known)
  return known
}

/** Evicts the least recently used trace. */
function remember(known: Map<string, Searched>, traceId: string, searched: Searched): void {
  known.delete(traceId)
  if (searched.ids.size <= runsRememberedMax) known.set(traceId, searched)
  for (const oldest of known.keys()) {
    if (known.size <= tracesRememberedMax) return
    known.delete(oldest)
  }
}

/**
 * The run requests that this trace belongs to, read in several turns so that other work goes on. An event may belong to
 * a request with another trace, so each request's own trace is checked, every time. Which requests the events belong to
 * is cached, and only later events are read.
 * @param isWanted asked between turns; once false the search ends with what it has
 */
export async function* runsOfTrace(
  runtime: Pick<Runtime, 'journal' | 'readTurns' | 'read'>,
  traceId: string,
  isWanted: () => boolean,
): AsyncGenerator<RunOfTrace> {
  const { journal, readTurns } = runtime
  const known = searchesOf(journal)
  let searched = known.get(traceId) ?? UNSEARCHED
  yield* runsAmong(runtime, traceId, searched.ids)
  if (searched.chars >= charsSearchedMax) return
  const trace = { of: 'trace', id: traceId } as const
  const left = eventsSearchedMax - searched.events
  for await (const { texts, upTo } of pagesOfHistory(journal, readTurns, trace, left, isWanted, searched.upTo)) {
    const { ids } = searched
    const more = new Set(texts.flatMap(requestOf).filter((id) => !ids.has(id)))
    const chars = texts.reduce((sum, text) => sum + text.length, searched.chars)
    searched = { ids: new Set([...ids, ...more]), upTo, events: searched.events + texts.length, chars }
    remember(known, traceId, searched)
    yield* runsAmong(runtime, traceId, more)
    if (chars >= charsSearchedMax) return
  }
}

function requestOf(text: string): readonly string[] {
  const { run_request_id: id } = envelopeOfText(text)
  return id !== undefined && isId('runreq', id) ? [id] : []
}

function* runsAmong(
  runtime: Pick<Runtime, 'read'>,
  traceId: string,
  ids: ReadonlySet<string>,
): Generator<RunOfTrace, void> {
  for (const id of ids) {
    const ref = { kind: 'run_request', id } as const
    const snapshot: RunOfTrace['snapshot'] | undefined = readable(() => runtime.read(ref), 'unreadable' as const)
    if (snapshot === 'unreadable' || snapshot?.context.trace_id === traceId) yield { id, snapshot }
  }
}
