/**
 * Takes in the requests that wait, as the service starts. Those of one demand and priority lie side by side in an index,
 * and the record of one of them tells of all: a backlog costs the reading of its index rows, not of its records.
 */

import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { DEMAND_INDEX, isLike } from '../../machines/run-request/demand.ts'
import type { Runtime, SnapshotOf } from '../api.ts'
import { Quarantined } from '../reader.ts'
import type { Queue } from './queue.ts'

export function loadQueue(runtime: Runtime, queue: Queue): void {
  const likenesses = new Map<string, ReturnType<Queue['likenessOf']>>()
  for (const { value, order, id } of runtime.journal.scanIndex('run_request', DEMAND_INDEX)) {
    const likeness = likenesses.get(value)
    if (likeness !== undefined) {
      queue.putAlike(id, order, likeness)
      continue
    }
    const snapshot = readable(runtime, id)
    if (snapshot?.value !== 'queued') continue
    queue.put(snapshot.context)
    if (isLike(snapshot, value)) likenesses.set(value, queue.likenessOf(snapshot.context))
  }
}

/** One that cannot be opened is among the quarantined from here on; a row that is damaged ends the start, as everywhere. */
function readable(runtime: Runtime, id: string): SnapshotOf<RunRequestContext> | undefined {
  try {
    return runtime.read({ kind: 'run_request', id })
  } catch (error) {
    if (error instanceof Quarantined) return undefined
    throw error
  }
}
