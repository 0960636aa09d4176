/**
 * Read-only runs under way: those of formations and assessments, on behalf of an owner, a campaign or an
 * initiative. An owner has one at a time, even if an earlier one was stopped and its owner has asked for another:
 * a runner told to stop may still be working until its run has ended, however it ends. What that run reports by
 * then is ignored, since the owner has already recorded what became of it.
 */
import { isSettledItem } from '../../machines/documents/work-item.ts'
import type { AskedItem, WorkItemContext } from '../../machines/work-item/context.ts'
import { isDecidedBySource } from '../../machines/work-item/results.ts'

/** The owner on whose behalf the item only reads; undefined unless it is a formation or an assessment. */
export function readOnlyOwnerOf(asked: AskedItem): string | undefined {
  const { kind, ref } = asked.source
  return isDecidedBySource(asked) ? `${kind} ${ref}` : undefined
}

export class ReadOnlyRuns {
  /** By owner, then by item: the run that has not ended. */
  private readonly runs = new Map<string, Map<string, string>>()

  /** Takes in an item's state, including that of a settled one. */
  note(state: string, { id, asked, run, internal }: WorkItemContext): void {
    const owner = readOnlyOwnerOf(asked)
    if (owner === undefined) return
    const isUnderWay = !isSettledItem(state) && run !== undefined && run.reported !== true
    const runId = isUnderWay ? run.id : internal.taken_back
    const ofOwner = this.runs.get(owner)
    if (runId !== undefined) {
      if (ofOwner === undefined) this.runs.set(owner, new Map([[id, runId]]))
      else ofOwner.set(id, runId)
    } else if (ofOwner?.delete(id) && ofOwner.size === 0) this.runs.delete(owner)
  }

  /** A run that another item has under way for the same owner. */
  otherRunOf(owner: string, id: string): string | undefined {
    for (const [other, runId] of this.runs.get(owner) ?? []) if (other !== id) return runId
    return undefined
  }
}
