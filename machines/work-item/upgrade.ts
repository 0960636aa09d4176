/** Migrations of work items stored by earlier versions. */
import type { SnapshotOf } from '../machine.ts'
import type { WorkItemContext } from './context.ts'
import { isDecidedBySource } from './results.ts'

/**
 * Before version 8, outages were noted for tasks too, and outlived the attempt that met them. Kept only if the item's
 * source decides it and this is the first attempt: for later attempts nobody can tell which one met the outage.
 */
export function toVersion8(snapshot: SnapshotOf<WorkItemContext>): SnapshotOf<WorkItemContext> {
  const { run, asked } = snapshot.context
  if (run?.outage === undefined || (isDecidedBySource(asked) && (run.attempt ?? 1) === 1)) return snapshot
  const { outage: _, ...others } = run
  return { ...snapshot, context: { ...snapshot.context, run: others } }
}
