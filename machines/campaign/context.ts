/** What a campaign remembers, and every message that it takes. */

import type { CycleOutcome, Evidence, ObjectiveEntry, OwnerDecision } from '../documents/campaign.ts'
import type { By, Message, MessageBody } from '../machine.ts'
import type { CreateBody, CreationRecord } from '../second-create.ts'
import type { ItemReported, ItemSettled, ItemStarted } from '../work-item/owner.ts'

/** What was asked for: made once, never changed. */
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

/** The one thing that is under way. */
export interface Work {
  readonly role: 'advance' | 'cycle'
  readonly item_id: string
  readonly trace_id: string
  readonly span_id: string
  readonly since: string
  /** Of a cycle. */
  readonly cycle?: number
  /** A runner has begun the cycle. */
  readonly begun?: true
  /** It was called off when nobody was known to have begun it, and is not charged: why the campaign ended. */
  readonly called_off?: string
  /** The kept work that the cycle was begun upon; absent: it starts from trunk. */
  readonly upon?: string | undefined
  /** What it was begun upon was given up, and nothing is to be built upon what it keeps. */
  readonly astray?: true
  readonly objective?: string
  /** The task result that it was formed from: the next formation starts from it anew if the cycle comes to nothing. */
  readonly formed_from?: TaskResult
  /** Of an advance: the prompt that it was handed out with. */
  readonly prompt?: string
}

/** A typed task result: `task_run_completed` of a cycle's run. */
export interface TaskResult {
  readonly event_id: string
  readonly item_id: string
  readonly payload: Readonly<Record<string, unknown>>
  /** Its engine could not reach the provider of its agent. */
  readonly outage?: string
}

/** What a formation is told to start from; of a result that an emitted request names, as much as that says. */
export interface Start {
  readonly event_id?: string | undefined
  readonly item_id?: string
  readonly payload?: TaskResult['payload'] | undefined
}

/** Work of a cycle that is not on trunk, and that its item owes. */
export interface KeptWork {
  readonly item_id: string
  /** Where it is. Absent: an earlier version has not kept that. */
  readonly ref?: string
  /** The kept work that its cycle was begun upon; absent: trunk. */
  readonly upon?: string | undefined
  /** Its cycle was not charged: of such in a row the last one is kept. */
  readonly uncharged?: true
  /** A person wants it no more: it is here for what was begun upon it. */
  readonly given_up?: true
}

/** Where events of a step belong. */
export interface Place {
  readonly trace_id: string
  readonly span_id: string
  readonly causation_id: string | null
}

/** What an initiative has found that is of use to this campaign. */
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
  /** Why it was escalated when its owner paused it: that is open still. */
  readonly escalated?: string
}

/** A cancel that waits for the end of the cycle that it stops. */
export interface Stopping {
  readonly by?: By
  readonly reason: string
  readonly discard_work: boolean
  readonly aborted_event_id?: string
  /** The status that it had. */
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
  /** When it came to its status. */
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
    /** Its own, for the moves of its owners. */
    readonly trace_id: string
    readonly span_id: string
    /** Of the facts of the last step. */
    readonly place: Place
    /** How many items it has opened: what their ids derive from. */
    readonly items: number
    /** Emitted requests that were heard, newest last. */
    readonly requests: readonly string[]
    /** Emitted requests that wait for the end of what is being formed; null: it was begun without one. */
    readonly askers?: readonly (string | null)[] | undefined
    /** What its cycles have kept and has not landed, each behind what it was begun upon. */
    readonly kept: readonly KeptWork[]
    /** The item whose kept work the next cycle is begun upon; absent: trunk. */
    readonly base?: string | undefined
    /** Landed under an earlier version, and its items are told with the next step. */
    readonly untold?: { readonly items: readonly string[]; readonly commit?: string } | undefined
    /** An item that still owes what an owner's word to the campaign discharges. */
    readonly owing?: string | undefined
    /** Initiatives that it is a member of, and what they have found. */
    readonly initiatives?: readonly string[]
    readonly findings?: readonly SharedFinding[]
    /** What the formation under way has seen, and what the formation of each cycle had. */
    readonly forming?: readonly SharedFinding[] | undefined
    readonly seen?: Readonly<Record<string, readonly SharedFinding[]>>
  }
}

export interface CreateCampaign extends CreateBody, Omit<AskedCampaign, 'added_by'> {
  readonly name: string
  readonly project: string
  readonly project_id: string
  /** The repository of its project, which alone it may name as writable. */
  readonly repository?: string
  readonly max_cycles: number
  readonly authorized_by?: string
}

/** From a person, from an initiative, or from an emitted `campaign_advance_requested`. */
interface Advance extends MessageBody {
  readonly type: 'advance'
  /** The event that asks for it, which the log holds already. */
  readonly event_id?: string
  /** The task result that made its sender ask (SPEC 6.8), as that event names it: no result of the campaign's own. */
  readonly run_event_id?: string
  readonly run_result?: TaskResult['payload']
}

interface Pause extends MessageBody {
  readonly type: 'pause'
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
  /** It stops as a member, with the initiative of that name: one that is complete is let be. */
  readonly with_initiative?: string
  readonly reason: string
  readonly now?: boolean
  readonly discard_work?: boolean
  /** Root event of the run of the item that it may stop: of a formation only where a runner has begun it. */
  readonly aborting?: { readonly item_id: string; readonly event_id: string }
}

/** The time has come until which the provider had said that it could not be reached. */
interface ProviderBack extends MessageBody {
  readonly type: 'provider_back'
}

/** From an initiative: the campaign is a member of it, or is told no more. */
interface JoinInitiative extends MessageBody {
  readonly type: 'join_initiative'
  readonly initiative: string
}

interface LeaveInitiative extends MessageBody {
  readonly type: 'leave_initiative'
  readonly initiative: string
}

/** From an initiative: what was found, for the next formation to see. */
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
