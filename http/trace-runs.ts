/** Which run requests a trace belongs to: asked when a trace is read, and when events of it are taken in. */
import type { RunRequestContext } from '../machines/run-request/context.ts'
import type { Runtime, SnapshotOf } from '../runtime/api.ts'

/** The first events of a trace name its run request; more of them than this are not looked through for others. */
const eventsSearchedMax = 10_000

export interface RunOfTrace {
  readonly id: string
  readonly snapshot: SnapshotOf<RunRequestContext>
}

/** The run requests whose trace this is. An id in a payload may name any other: the request itself is asked. */
export function* runsOfTrace(runtime: Runtime, traceId: string): Generator<RunOfTrace> {
  const { journal } = runtime
  const seen = new Set<string>()
  for (const sequence of journal.history('trace', traceId, 0, eventsSearchedMax)) {
    const text = journal.event(sequence)
    if (text === undefined) continue
    for (const [, id] of text.matchAll(/"run_request_id":"(runreq_[0-9a-f]{24})"/g)) {
      if (seen.has(id!)) continue
      seen.add(id!)
      const snapshot = runtime.read({ kind: 'run_request', id: id! })
      if (snapshot?.context.trace_id === traceId) yield { id: id!, snapshot }
    }
  }
}
