/**
 * Handed-out items that no runner can begin as things stand: their lane or campaign is paused, their project archived,
 * enough runs with one of their labels are under way, or no online runner may take them. They would keep a place and
 * their repository from others. An item whose possible runners are silent, though not offline yet, gives up its
 * repository only. More items of one repository may then be handed out than may change it at once, which does no harm:
 * the dispatcher offers no more than that.
 */
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { WorkItemBody } from '../../machines/work-item/context.ts'
import type { Entry, Ledger } from './ledger.ts'
import { lastingReason, type SchedulingView, takesBackFrom, whyNotBegun, whyTakenBack } from './rules.ts'

export interface StalledParts {
  readonly ledger: Ledger
  readonly now: SchedulingView
  /** The run request; undefined if it does not exist. */
  run(id: string): SnapshotOf<RunRequestContext> | undefined
  /** Runs `act` unless the item is to be left alone for now. */
  each(entry: Entry, act: () => void): void
  /** Whether as much is under way as may be. */
  isFull(): boolean
  send(entry: Entry, message: WorkItemBody): void
  changed(): void
}

/** Items that no runner has begun go back to the queue and wait with the others. */
export function takeBack(parts: StalledParts): void {
  const { ledger, now, send } = parts
  for (const entry of ledger.handedOut) {
    if (parts.isFull()) return
    parts.each(entry, () => {
      const rule = whyTakenBack(entry, now)
      if (rule === undefined || !takesBackFrom(rule, parts.run(entry.runId!)?.value)) return
      send(entry, { type: 'take_back', reason: lastingReason(rule, entry, now) })
    })
  }
}

/**
 * An item that had begun and waits for a runner again keeps its run but stands aside, taking no place, until a runner
 * can continue it and its time has come. So does one that stands in line for a label. It yields its repository sooner,
 * as does an item not yet begun: while no runner that may take it is heard.
 */
export function standAside(parts: StalledParts): void {
  const { ledger, now } = parts
  for (const entry of ledger.withoutRunner)
    parts.each(entry, () => {
      const run = parts.run(entry.runId!)
      const isStalled = whyNotBegun(entry, now) !== undefined || !isDue(run)
      const yields = (isStalled || !now.isExpected(entry)) && run?.value === 'queued'
      const isAside = isStalled && yields
      if (isAside === entry.isAside && yields === entry.yields) return
      entry.isAside = isAside
      entry.yields = yields
      parts.changed()
    })
}

/** Whether the run request's `not_before`, if any, has come. */
function isDue(run: SnapshotOf<RunRequestContext> | undefined): boolean {
  return run?.context.internal.ready !== false
}

/** Whether a run request has moved, or may now be offered to a runner. */
export function isNews(before: SnapshotOf<RunRequestContext>, after: SnapshotOf<RunRequestContext>): boolean {
  return after.value !== before.value || isDue(after) !== isDue(before)
}
