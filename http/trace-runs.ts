/** Which run requests a trace belongs to: asked when a trace is read, and when events of it are taken in. */
import type { RunRequestContext } from '../machines/run-request/context.ts'
import type { Runtime, SnapshotOf } from '../runtime/api.ts'
import { readable } from '../runtime/reader.ts'
import { envelopeOfText } from '../runtime/stream/fields.ts'
import { pagesOfHistory } from '../runtime/stream/find-events.ts'
import { isServiceId } from './replies.ts'

/** The first events of a trace are of its run request; more of them than this are not looked through for others. */
const eventsSearchedMax = 10_000
/** Nor more text than this: with large events their number alone is no bound. */
const charsSearchedMax = 64 * 1024 * 1024

export interface RunOfTrace {
  readonly id: string
  readonly snapshot: SnapshotOf<RunRequestContext> | 'unreadable'
}

/**
 * The run requests whose trace this is, in turns that others share. An event may be of a request with another trace: the
 * request itself is asked.
 * @param isWanted asked between turns; once false the search ends with what it has
 */
export async function* runsOfTrace(
  runtime: Pick<Runtime, 'journal' | 'nature' | 'read'>,
  traceId: string,
  isWanted: () => boolean,
): AsyncGenerator<RunOfTrace> {
  const { journal, nature } = runtime
  const seen = new Set<string>()
  let chars = 0
  const trace = { of: 'trace', id: traceId } as const
  for await (const { texts } of pagesOfHistory(journal, nature, trace, eventsSearchedMax, isWanted)) {
    for (const text of texts) {
      chars += text.length
      const { run_request_id: id } = envelopeOfText(text)
      if (id === undefined || seen.has(id) || !isServiceId('runreq', id)) continue
      seen.add(id)
      const ref = { kind: 'run_request', id } as const
      const snapshot: RunOfTrace['snapshot'] | undefined = readable(() => runtime.read(ref), 'unreadable' as const)
      if (snapshot === 'unreadable' || snapshot?.context.trace_id === traceId) yield { id, snapshot }
    }
    if (chars >= charsSearchedMax) return
  }
}
