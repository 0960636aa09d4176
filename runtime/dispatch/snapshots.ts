/** Reads committed snapshots of run requests for the dispatcher. */
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'

/** The committed snapshot of a run request; undefined if it does not exist or cannot be read. */
export function readRequest(runtime: Runtime, id: string): SnapshotOf<RunRequestContext> | undefined {
  return committed(runtime, { kind: 'run_request', id })
}
