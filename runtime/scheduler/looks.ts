/**
 * Looks under way: read-only items (formations and assessments) that run on behalf of an owner, a campaign or an
 * initiative. An owner has one look at a time, even if an earlier one was stopped and its owner has asked for another:
 * a runner told to stop may still be working until its run has ended, however it ends. What that run reports by
 * then is ignored, since the owner has already recorded what became of the look.
 */
import { isSettledItem } from '../../machines/documents/work-item.ts'
import type { AskedItem, WorkItemContext } from '../../machines/work-item/context.ts'
import { isDecidedBySource } from '../../machines/work-item/results.ts'

/** The owner that the item looks for; undefined if the item is no look. */
export function lookOf(asked: AskedItem): string | undefined {
  const { kind, ref } = asked.source
  return isDecidedBySource(asked) ? `${kind} ${ref}` : undefined
}

export class Looks {
  /** By owner, then by item: the run that has not ended. */
  private readonly runs = new Map<string, Map<string, string>>()

  /** Takes in an item's state, including that of a settled one. */
  note(state: string, { id, asked, run, internal }: WorkItemContext): void {
    const owner = lookOf(asked)
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
  beside(owner: string, id: string): string | undefined {
    for (const [other, runId] of this.runs.get(owner) ?? []) if (other !== id) return runId
    return undefined
  }
}
