/** What a campaign states about itself: the events of SPEC 6.8, and its owners' moves. */
import type { CampaignStatus } from '../documents/campaign.ts'
import type { OwnFact } from '../machine.ts'
import type { CampaignContext, TaskResult } from './context.ts'

/** The members that all terminal campaign events share. */
function terminal({ name, project, cycles_completed, cycles_landed }: CampaignContext, reason: string) {
  return { campaign: name, project, reason, cycles_completed, cycles_landed }
}

/** The members of every owner's move, so that a reader of the events alone can display the campaign. */
function standing({ authorized_by, max_cycles }: CampaignContext) {
  return { ...(authorized_by === undefined ? {} : { authorized_by }), budget: { max_cycles } }
}

export function added(context: CampaignContext): OwnFact {
  const { name, project, asked } = context
  const payload = { campaign: name, status: 'staged', project, ...standing(context), mission: asked.mission }
  return { type: 'campaign_added', payload }
}

/** `campaign_owner_paused`, `campaign_resumed`, `campaign_decided`. */
export function ownerMove(
  type: 'owner_paused' | 'resumed' | 'decided',
  context: CampaignContext,
  more: {
    readonly status: CampaignStatus
    readonly reason?: string
    readonly decision?: string
    readonly from_trunk?: true
  },
): OwnFact {
  const { name, project } = context
  return { type: `campaign_${type}`, payload: { campaign: name, project, ...more, ...standing(context) } }
}

export function advanceRequested({ name }: CampaignContext, result: TaskResult | undefined): OwnFact {
  const of = result === undefined ? {} : { run_event_id: result.event_id, run_result: result.payload }
  return { type: 'campaign_advance_requested', payload: { campaign: name, ...of } }
}

export interface Decided {
  readonly success: boolean
  readonly decision: 'done' | 'advance' | 'escalate' | 'stood_down'
  readonly reason: string
  readonly campaign_status?: 'paused' | 'cancelled' | 'completed' | 'escalated'
  readonly objective?: string
  readonly prompt?: string
  readonly agent_provider?: string
  readonly gate_results?: readonly object[]
}

export function advanceCompleted(context: CampaignContext, decided: Decided): OwnFact {
  const { name, project, cycles_completed, cycles_landed } = context
  const { gate_results = [], ...said } = decided
  const payload = { campaign: name, project, cycles_completed, cycles_landed, ...said, gate_results }
  return { type: 'campaign_advance_completed', payload }
}

export function paused(context: CampaignContext, reason: string): OwnFact {
  return { type: 'campaign_paused', payload: terminal(context, reason) }
}

export function escalated(context: CampaignContext, reason: string): OwnFact {
  return { type: 'campaign_escalated', payload: terminal(context, reason) }
}

export function completed(context: CampaignContext, reason: string): OwnFact {
  return { type: 'campaign_completed', payload: terminal(context, reason) }
}

/** What was aborted, if anything was; if absent, the stop was a graceful one. */
export interface Aborted {
  readonly discard_work: boolean
  readonly aborted_event_id?: string
  readonly aborted_trace_id: string
}

export function cancelled(context: CampaignContext, reason: string, aborted?: Aborted): OwnFact {
  const how = { terminated_now: aborted !== undefined, discard_work: false, ...aborted }
  return { type: 'campaign_cancelled', payload: { ...terminal(context, reason), ...how } }
}
