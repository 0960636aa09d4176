/** What a campaign remembers, and the messages it takes. */

import type { CycleOutcome, Evidence, ObjectiveEntry, OwnerDecision } from '../documents/campaign.ts'
import type { By, Message, MessageBody } from '../machine.ts'
import type { CreateBody, CreationRecord } from '../repeated-create.ts'
import type { ItemReported, ItemSettled, ItemStarted } from '../work-item/owner.ts'

/** What was asked for: fixed at creation, never changed. */
interface AskedCampaign {
  readonly mission: string
  readonly done_evidence: readonly Evidence[]
  readonly intent_refs?: readonly string[]
  readonly context_paths?: readonly string[]
  readonly writable_repositories?: readonly string[]
  readonly escalation?: readonly string[]
  readonly agent_provider?: string
  readonly labels?: readonly string[]
  readonly runner_id?: string
  readonly added_by: By
}

/** The one item that is under way. */
export interface Work {
  readonly role: 'advance' | 'cycle'
  readonly item_id: string
  readonly trace_id: string
  readonly span_id: string
  readonly since: string
  /** Of a cycle: its number. */
  readonly cycle?: number
  /** A runner has begun the cycle. */
  readonly begun?: true
  /** The cycle was called off while no runner was known to have begun it: why the campaign ended. Not charged. */
  readonly called_off?: string
  /** The kept work that the cycle was begun upon; absent if it starts from trunk. */
  readonly upon?: string | undefined
  /** What the cycle was begun upon was given up, so nothing is to be built upon what it keeps. */
  readonly astray?: true
  readonly objective?: string
  /** The task result that it was formed from: the next formation starts from it again if the cycle comes to nothing. */
  readonly formed_from?: TaskResult
  /** Of an advance: the prompt that it was handed out with. */
  readonly prompt?: string
}

/** A typed task result: `task_run_completed` of a cycle's run. */
export interface TaskResult {
  readonly event_id: string
  readonly item_id: string
  readonly payload: Readonly<Record<string, unknown>>
  /** Set if its engine could not reach its agent's provider. */
  readonly outage?: string
}

/** What a formation is told to start from; for a result named by an emitted request, only what that request says. */
export interface Start {
  readonly event_id?: string | undefined
  readonly item_id?: string
  readonly payload?: TaskResult['payload'] | undefined
}

/** A cycle's work that is not on trunk and that its item still owes. */
export interface KeptWork {
  readonly item_id: string
  /** The ref that preserves it. Absent if an earlier version did not record it. */
  readonly ref?: string
  /** The kept work that its cycle was begun upon; absent if trunk. */
  readonly upon?: string | undefined
  /** Its cycle was not charged: of consecutive uncharged cycles only the last one's work is kept. */
  readonly uncharged?: true
  /** A person gave it up; it stays only for what was begun upon it. */
  readonly given_up?: true
}

/** The trace, span and cause of a step's events. */
export interface Place {
  readonly trace_id: string
  readonly span_id: string
  readonly causation_id: string | null
}

/** A finding that an initiative has shared with this campaign. */
export interface SharedFinding {
  readonly finding_id: string
  readonly initiative: string
  readonly kind: string
  readonly text: string
  readonly refs: readonly string[]
}

interface Paused {
  readonly by: 'owner' | 'provider'
  readonly until?: string
  /** Why it was escalated when its owner paused it; that question is still open. */
  readonly escalated?: string
}

/** A cancel that waits for the end of the cycle it stops. */
export interface Stopping {
  readonly by?: By
  readonly reason: string
  readonly discard_work: boolean
  readonly aborted_event_id?: string
  /** The campaign's status before. */
  readonly from: string
}

export interface CampaignContext {
  readonly name: string
  readonly project: string
  readonly project_id: string
  readonly asked: AskedCampaign
  readonly max_cycles: number
  readonly authorized_by?: string | undefined
  readonly cycles_completed: number
  readonly cycles_landed: number
  /** One line. */
  readonly reason: string
  /** When it entered its status, or last got a new reason. */
  readonly since: string
  readonly owner_decisions: readonly OwnerDecision[]
  readonly history: readonly ObjectiveEntry[]
  readonly work?: Work | undefined
  /** What the next formation starts from; kept until a formation has taken a step with it. */
  readonly pending?: TaskResult | undefined
  readonly last_run_event_id?: string | undefined
  readonly gate_results?: readonly object[] | undefined
  /** What the last cycle asks an owner. */
  readonly question?: { readonly finding: string; readonly options: readonly string[] } | undefined
  readonly paused?: Paused | undefined
  readonly stopping?: Stopping | undefined
  readonly created_at: string
  readonly ended_at?: string | undefined
  readonly internal: {
    readonly creation: CreationRecord
    /** The campaign's own trace and span, for its owners' moves. */
    readonly trace_id: string
    readonly span_id: string
    /** Where the facts of the last step belong. */
    readonly place: Place
    /** Number of items it has opened; their ids derive from it. */
    readonly items: number
    /** Emitted requests it has received, newest last. */
    readonly requests: readonly string[]
    /** Emitted requests that wait for the end of the formation; null stands for a formation begun without one. */
    readonly askers?: readonly (string | null)[] | undefined
    /** What its cycles have kept and that has not landed, each after what it was begun upon. */
    readonly kept: readonly KeptWork[]
    /** The item upon whose kept work the next cycle is begun; absent if trunk. */
    readonly base?: string | undefined
    /** Items whose work landed under an earlier version; they are told with the next step. */
    readonly untold?: { readonly items: readonly string[]; readonly commit?: string } | undefined
    /** An item that still owes something; an owner's next word to the campaign discharges it. */
    readonly owing?: string | undefined
    /** Initiatives that it is a member of, and what they have found. */
    readonly initiatives?: readonly string[]
    readonly findings?: readonly SharedFinding[]
    /** Findings shown to the formation under way, and those shown to the formation of each cycle. */
    readonly forming?: readonly SharedFinding[] | undefined
    readonly seen?: Readonly<Record<string, readonly SharedFinding[]>>
  }
}

export interface CreateCampaign extends CreateBody, Omit<AskedCampaign, 'added_by'> {
  readonly name: string
  readonly project: string
  readonly project_id: string
  /** The project's repository, the only one that the campaign may name as writable. */
  readonly repository?: string
  readonly max_cycles: number
  readonly authorized_by?: string
}

/** From a person, from an initiative, or from an emitted `campaign_advance_requested`. */
interface Advance extends MessageBody {
  readonly type: 'advance'
  /** The event that asks for it, which is already in the log. */
  readonly event_id?: string
  /** The task result that made the sender ask (SPEC 6.8), as that event names it; not a result of this campaign. */
  readonly run_event_id?: string
  readonly run_result?: TaskResult['payload']
}

interface Pause extends MessageBody {
  readonly type: 'pause'
  /** Name of the initiative whose steering pauses the campaign; one that is over is left alone. */
  readonly with_initiative?: string
  readonly reason?: string
}

interface Resume extends MessageBody {
  readonly type: 'resume'
  readonly add_cycles?: number
  readonly from_trunk?: boolean
}

interface Decide extends MessageBody {
  readonly type: 'decide'
  readonly decision: string
  readonly from_trunk?: boolean
}

interface Complete extends MessageBody {
  readonly type: 'complete'
  readonly reason: string
}

interface Cancel extends MessageBody {
  readonly type: 'cancel'
  /** Name of the initiative with which the campaign, as a member, is stopped; a complete campaign is left alone. */
  readonly with_initiative?: string
  readonly reason: string
  readonly now?: boolean
  readonly discard_work?: boolean
  /** Root event of the run of the item that it may stop; for a formation, only if a runner has begun it. */
  readonly aborting?: { readonly item_id: string; readonly event_id: string }
}

/** The time has come at which the provider should be reachable again. */
interface ProviderBack extends MessageBody {
  readonly type: 'provider_back'
}

/** From an initiative: the campaign becomes, or ceases to be, a member of it. */
interface JoinInitiative extends MessageBody {
  readonly type: 'join_initiative'
  readonly initiative: string
}

interface LeaveInitiative extends MessageBody {
  readonly type: 'leave_initiative'
  readonly initiative: string
}

/** From an initiative: a finding for the next formation to see. */
interface ShareFinding extends MessageBody {
  readonly type: 'share_finding'
  readonly finding: SharedFinding
}

export type CampaignBody =
  | CreateCampaign
  | Advance
  | Pause
  | Resume
  | Decide
  | Complete
  | Cancel
  | ProviderBack
  | ItemStarted
  | ItemReported
  | ItemSettled
  | JoinInitiative
  | LeaveInitiative
  | ShareFinding
export type CampaignMessage = Message<CampaignBody>
export type Of<T extends CampaignBody['type']> = Message<Extract<CampaignBody, { type: T }>>
export type { CycleOutcome, Evidence, ObjectiveEntry }
