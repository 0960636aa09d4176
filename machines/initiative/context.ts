/**
 * What an initiative remembers and the messages it takes. The context holds the served document's own fields, plus
 * `internal`, which the moves need and which is never served.
 */

import type { Finding } from '../documents/finding.ts'
import type {
  Action,
  Assessed,
  Budget,
  CloseProposal,
  FollowUp,
  OwnerAction,
  OwnerDecision,
  Question,
} from '../documents/initiative.ts'
import type { Member } from '../documents/member.ts'
import type { RunResult } from '../documents/run-result.ts'
import type { By, FactEnvelope, Message, MessageBody } from '../machine.ts'
import type { CreateBody, CreationRecord } from '../repeated-create.ts'
import type { ItemReported, ItemSettled } from '../work-item/owner.ts'

/** One request for an assessment: from a person, or from an earlier assessment. */
export interface Trigger {
  readonly trigger_id: string
  /** The caller gave no trigger id; it was made by the service. */
  readonly unnamed?: true
  readonly member?: Member
  readonly follow_up_of?: FollowUp
  readonly requested_at: string
  readonly by: By
  /** The ids of its work item derive from this. */
  readonly seed: string
  /** The `initiative_advance_requested` event that states the request. */
  readonly event_id: string
}

/** The assessment under way. */
export interface Assessment extends Trigger {
  readonly item_id: string
  readonly steer_id: string
  readonly prompt: string
  readonly fingerprint: string
  readonly eligible: readonly Member[]
  /** The answer of its run, until the guards have judged it. */
  readonly result?: RunResult
}

/** The member a cycle belongs to, and the findings that its formation was shown. */
export interface SeenBy {
  readonly member: Member
  readonly finding_ids: readonly string[]
}

interface InitiativeInternal {
  readonly creation: CreationRecord
  /** The project of each member, by `kind:ref`. */
  readonly homes: Readonly<Record<string, string>>
  /** Number of requests taken; the next one's seed derives from it. */
  readonly requests: number
  /** Trigger ids of requests that are over, newest last. */
  readonly over: readonly string[]
  /** Hash of the body by idempotency key or trigger id: another body under the same name is an error. */
  readonly bodies: Readonly<Record<string, string>>
  /** What the formation of each of this initiative's own cycles was shown, until the work has landed or is given up. */
  readonly cycles: Readonly<Record<string, SeenBy>>
  /** Envelope of the last step's facts. */
  readonly envelope: FactEnvelope
}

export interface InitiativeContext {
  readonly name: string
  readonly outcome: string
  readonly projects: readonly string[]
  readonly intent_refs: readonly string[]
  readonly members: readonly Member[]
  readonly authorized_by: string
  readonly budget: Budget
  readonly assessments_made: number
  readonly actions_applied: number
  readonly assessment?: Assessment | undefined
  readonly waiting: readonly Trigger[]
  readonly questions: readonly Question[]
  readonly close_proposals: readonly CloseProposal[]
  readonly owner_decisions: readonly OwnerDecision[]
  readonly owner_actions: readonly OwnerAction[]
  readonly assessments: readonly Assessed[]
  readonly actions: readonly Action[]
  readonly findings: readonly Finding[]
  readonly created_by: By
  readonly created_at: string
  readonly ended_at?: string
  readonly reason?: string
  readonly internal: InitiativeInternal
}

/** The current state of a member, as steering sees it. */
export interface MemberView {
  readonly member: Member
  readonly project: string
  /** The state of its machine; `missing` if there is no such actor. */
  readonly state: string
  /** What is under way for it, in words; while set, it cannot advance. */
  readonly busy?: string
  /** Why nothing of it may start, whatever its own state. */
  readonly barred?: string
  /** It is paused until its provider is back, and then goes on. */
  readonly resumes_by_itself?: boolean
  /** Set if this initiative holds it. */
  readonly held_by_us?: boolean
  /** Anything else that distinguishes this moment from another; part of the fingerprint. */
  readonly mark?: string
  /** Description for the prompt. */
  readonly about?: string
}

/** An item that this initiative created and that has not settled. */
export interface OwnItem {
  readonly item_id: string
  readonly project: string
  readonly objective: string
  readonly state: string
}

/** An item that this initiative created and that has settled. */
export interface EndedItem extends OwnItem {
  /** How it ended, in words. */
  readonly reason: string
}

/** Everything outside the initiative that steering considers, read from committed state. */
export interface View {
  readonly members: readonly MemberView[]
  readonly items: readonly OwnItem[]
  /** The newest of those that have settled, oldest first: only for the prompt. */
  readonly ended?: readonly EndedItem[]
  /** Those of the initiative's projects that are archived, so that nothing starts in them. */
  readonly archived?: readonly string[]
}

export interface CreateInitiative extends CreateBody {
  /** The name. */
  readonly id: string
  readonly outcome: string
  readonly projects: readonly string[]
  readonly intent_refs: readonly string[]
  readonly members: readonly Member[]
  readonly homes: Readonly<Record<string, string>>
  readonly authorized_by: string
  readonly budget: Budget
  readonly by: By
}

/** Asks for an assessment. */
interface Advance extends MessageBody {
  readonly type: 'advance'
  readonly trigger_id: string
  /** The caller gave no trigger id: a waiting request for the same member may stand for this one. */
  readonly unnamed?: true
  readonly member?: Member
  /** The emitted event that made this request, if one did; it is already in the log. */
  readonly event_id?: string
  readonly fingerprint?: string
  /** It was taken under its trigger id: only the caller's key is recorded, with this message. */
  readonly is_made?: true
}

/** From the steward: no assessment is under way, and this is the current view. */
interface Assess extends MessageBody {
  readonly type: 'assess'
  readonly trigger_id: string
  readonly view: View
}

/** From the steward: the run has answered, and this is the current view. */
interface Judge extends MessageBody {
  readonly type: 'judge'
  readonly item_id: string
  readonly view: View
}

interface Decide extends MessageBody {
  readonly type: 'decide'
  readonly decision: string
  readonly reason?: string
  readonly applicable_members?: readonly Member[]
  /** The open question that the decision answers. */
  readonly question_id?: string
  /** Derived from an idempotency key. */
  readonly decision_id?: string
  readonly fingerprint?: string
}

interface Complete extends MessageBody {
  readonly type: 'complete'
  readonly reason: string
}

interface Cancel extends MessageBody {
  readonly type: 'cancel'
  readonly reason: string
  /** The initiative's own work items that had not settled when the cancel was requested. */
  readonly items: readonly string[]
}

interface RecordOwnerAction extends MessageBody, Omit<OwnerAction, 'by' | 'at' | 'operator_origin'> {
  readonly type: 'record_owner_action'
  readonly fingerprint?: string
}

/** From a person, or from the steward on the basis of a reviewer's result. */
interface RecordFinding extends MessageBody, Pick<Finding, 'finding_id' | 'from' | 'to' | 'kind' | 'text' | 'refs'> {
  readonly type: 'record_finding'
  readonly audit?: Finding['audit']
  readonly fingerprint?: string
}

/** From a member campaign: a cycle has settled, and which of this initiative's findings its formation was shown. */
interface MemberCycleSettled extends MessageBody, SeenBy {
  readonly type: 'member_cycle_settled'
  readonly item_id: string
  readonly state: ItemSettled['state']
  readonly terminal?: NonNullable<ItemSettled['terminal']>
  readonly on_trunk?: true
}

export type InitiativeBody =
  | CreateInitiative
  | Advance
  | Assess
  | ItemReported
  | ItemSettled
  | Judge
  | Decide
  | Complete
  | Cancel
  | RecordOwnerAction
  | RecordFinding
  | MemberCycleSettled

export type InitiativeMessage = Message<InitiativeBody>
export type Of<T extends InitiativeBody['type']> = Message<Extract<InitiativeBody, { type: T }>>
