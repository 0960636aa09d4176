/** What an item that an earlier version has stored is to this one. */
import type { SnapshotOf } from '../machine.ts'
import type { WorkItemContext } from './context.ts'
import { isDecidedBySource } from './results.ts'

/** An outage was noted of a task, too, and outlived the attempt that had met it: of a later one nobody can say whose it is. */
export function toVersion8(snapshot: SnapshotOf<WorkItemContext>): SnapshotOf<WorkItemContext> {
  const { run, asked } = snapshot.context
  if (run?.outage === undefined || (isDecidedBySource(asked) && (run.attempt ?? 1) === 1)) return snapshot
  const { outage: _, ...others } = run
  return { ...snapshot, context: { ...snapshot.context, run: others } }
}
