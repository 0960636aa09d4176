/**
 * One step of a campaign being worked out: the new context, the facts, the messages and the timers, each in order.
 * Created and used up within one step.
 */
import { reasonOf } from '../clipped.ts'
import type { CancelTimerParams, Fact, ScheduleParams, SendParams } from '../machine.ts'
import { recordedFact } from '../recorded-fact.ts'
import { type OwnedOrder, openItem, ownedIds, settleItem } from '../work-item/owner.ts'
import type { CampaignContext, Place, Work } from './context.ts'
import { advanceCompleted, type Decided } from './facts.ts'
import { envelope } from './view.ts'

/** What varies between the items of a campaign. */
type OrderOf = Omit<OwnedOrder, 'owner' | 'seed' | 'project' | 'project_id' | 'submitted_by' | 'labels' | 'runner_id'>

/** Fires when the provider should be reachable again, as it has said itself. */
export const PROVIDER_TIMER = 'provider_back'

const NOBODY: readonly null[] = [null]

export class Draft {
  context: CampaignContext
  readonly facts: Fact[] = []
  readonly sends: SendParams[] = []
  readonly schedules: ScheduleParams[] = []
  readonly cancels: CancelTimerParams[] = []

  private readonly at: string

  constructor(context: CampaignContext, at: string) {
    this.context = context
    this.at = at
  }

  set(change: Partial<CampaignContext>): void {
    this.context = { ...this.context, ...change }
  }

  keep(change: Partial<CampaignContext['internal']>): void {
    this.set({ internal: { ...this.context.internal, ...change } })
  }

  /** Enters a status, or stays in it for another reason. */
  setReason(reason: string, at: string): void {
    this.set({ reason: reasonOf(reason), since: at })
  }

  /** Puts this step's facts on the item's trace, or else on the campaign's own. */
  setTrace(work: Pick<Work, 'trace_id' | 'span_id'> | undefined, causation_id: string | null = null): void {
    const { trace_id, span_id } = work ?? this.context.internal
    const place: Place = { trace_id, span_id, causation_id }
    this.keep({ place })
  }

  /** States the end of an advance, once for each emitted request that waited for it, with that request as the cause. */
  endAdvance(decided: Decided): void {
    const { askers = NOBODY } = this.context.internal
    // Only the first of them carries the agent's prompt.
    const { prompt: _, ...told } = decided
    const place = envelope(this.context)
    for (const [i, causation_id] of askers.entries()) {
      const fact = advanceCompleted(this.context, i === 0 ? decided : told)
      const named = { ...place, causation_id }
      this.facts.push(causation_id === null ? fact : recordedFact(fact.type, fact.payload, named, this.at))
    }
    this.keep({ askers: undefined })
  }

  /** Opens the next item. Does not change what is under way. */
  open(role: Work['role'], order: OrderOf): Pick<Work, 'role' | 'item_id' | 'trace_id' | 'span_id'> {
    const { name, project, project_id, created_at, asked, internal } = this.context
    const items = internal.items + 1
    const owner = { kind: 'campaign', ref: name, role } as const
    const seed = `${created_at}/${items}`
    const { labels, runner_id, added_by } = asked
    this.sends.push(
      openItem({
        ...order,
        owner,
        seed,
        project,
        project_id,
        submitted_by: added_by,
        ...(labels === undefined ? {} : { labels }),
        ...(runner_id === undefined ? {} : { runner_id }),
      }),
    )
    this.keep({ items })
    return { role, ...ownedIds(owner, seed) }
  }

  settle(item_id: string, state: 'landed' | 'failed', reason: string): void {
    this.sends.push(settleItem(item_id, state, reason))
  }

  /** Ends the pause, or replaces its reason: the timer that would have ended it is cancelled. */
  unpause(): void {
    if (this.context.paused?.until !== undefined) this.cancels.push({ timer: PROVIDER_TIMER })
    this.set({ paused: undefined })
  }
}
