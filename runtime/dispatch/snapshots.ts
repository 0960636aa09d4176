/** How the dispatcher reads run requests: their committed snapshots. */
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'

/** The committed snapshot of a run request, or undefined when there is none that can be read. */
export function readRequest(runtime: Runtime, id: string): SnapshotOf<RunRequestContext> | undefined {
  return committed(runtime, { kind: 'run_request', id })
}
