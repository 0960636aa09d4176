/**
 * Loads the queued requests at start. Those of one demand and priority lie side by side in an index, and the record of
 * one of them stands for all: ready requests cost reading their index rows, not their records.
 */
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { DEMAND_INDEX, isLike } from '../../machines/run-request/demand.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { Guard } from '../control/guard.ts'
import type { DemandAndPriority, Queue } from './queue.ts'

/** Hot with a million rows: a failure at a row is caught inline, without a closure. */
export function loadQueue(runtime: Runtime, queue: Queue, guard: Guard): void {
  const { journal } = runtime
  const knownDemands = new Map<string, DemandAndPriority>()
  let failed = 0
  for (const { value, order, id } of journal.scanIndex('run_request', DEMAND_INDEX)) {
    try {
      const known = knownDemands.get(value)
      if (known !== undefined) {
        queue.putWith(id, order, known)
        continue
      }
      const snapshot = committed<RunRequestContext>(runtime, { kind: 'run_request', id })
      if (snapshot?.value !== 'queued') continue
      queue.put(snapshot.context)
      if (isLike(snapshot, value)) knownDemands.set(value, queue.demandAndPriorityOf(snapshot.context))
    } catch (error) {
      guard.failed({ kind: 'run_request', id }, error)
      failed++
    }
  }
  if (queue.size + failed !== journal.count('run_request', 'state', 'queued')) putEach(runtime, queue, guard)
  queue.seatByAge()
}

/** For an index that is damaged, or not built yet (a first start of this version that may not write). */
function putEach(runtime: Runtime, queue: Queue, guard: Guard): void {
  for (const { ref, snapshot } of runtime.scan('run_request', 'state', 'queued'))
    guard.guarded(ref, () => queue.put(snapshot.context))
}
