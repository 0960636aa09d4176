/**
 * Who looks at things for their owners: formations and assessments, by whose they are. Of one owner one looks at a time,
 * also when an earlier look was stopped and its owner has asked for another: who was told to stop may still be at it,
 * and is until the run has ended, whatever way it ends. What it says by then is for nobody: its owner has said already
 * what became of that look.
 */
import { isSettledItem } from '../../machines/documents/work-item.ts'
import type { AskedItem, WorkItemContext } from '../../machines/work-item/context.ts'
import { isDecidedBySource } from '../../machines/work-item/results.ts'

/** Whom the item looks for; undefined: it does not only look. */
export function lookOf(asked: AskedItem): string | undefined {
  const { kind, ref } = asked.source
  return isDecidedBySource(asked) ? `${kind} ${ref}` : undefined
}

export class Looks {
  /** By owner and item: the run that has not ended. */
  private readonly runs = new Map<string, Map<string, string>>()

  /** Takes in where an item stands, also one that has settled. */
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

  /** A run of another item that looks for the owner, and that has not ended. */
  beside(owner: string, id: string): string | undefined {
    for (const [other, runId] of this.runs.get(owner) ?? []) if (other !== id) return runId
    return undefined
  }
}
