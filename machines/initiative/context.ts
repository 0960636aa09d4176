/**
 * What an initiative remembers and what it can be told. The context is the served document's own fields, and
 * `internal`: what the moves need and nobody is shown.
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
import type { CreateBody, CreationRecord } from '../second-create.ts'
import type { ItemReported, ItemSettled } from '../work-item/owner.ts'

/** One request for an assessment: from a person, or from an assessment before it. */
export interface Trigger {
  readonly trigger_id: string
  /** Nobody has named it: the id is the service's own. */
  readonly unnamed?: true
  readonly member?: Member
  readonly follow_up_of?: FollowUp
  readonly requested_at: string
  readonly by: By
  /** The ids of its work item derive from it. */
  readonly seed: string
  /** The `initiative_advance_requested` that says so. */
  readonly event_id: string
}

/** The assessment under way. */
export interface Assessment extends Trigger {
  readonly item_id: string
  readonly steer_id: string
  readonly prompt: string
  readonly fingerprint: string
  readonly eligible: readonly Member[]
  /** What its run answered, until the guards have looked at it. */
  readonly result?: RunResult
}

/** A cycle of a member, and the findings that it was formed with. */
export interface SeenBy {
  readonly member: Member
  readonly finding_ids: readonly string[]
}

interface InitiativeInternal {
  readonly creation: CreationRecord
  /** The project of each member, by `kind:ref`. */
  readonly homes: Readonly<Record<string, string>>
  /** How many requests were taken: the next one's seed. */
  readonly requests: number
  /** Trigger ids that are over, newest last. */
  readonly over: readonly string[]
  /** Bodies by what an idempotency key or a trigger id made: another body under the same one is a mistake. */
  readonly bodies: Readonly<Record<string, string>>
  /** What the formation of each cycle of ours saw, until that has landed or is given up. */
  readonly cycles: Readonly<Record<string, SeenBy>>
  /** Of the facts of the last step. */
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

/** What is to be seen of a member now. */
export interface Sight {
  readonly member: Member
  readonly project: string
  /** Of its machine, `missing` where there is none. */
  readonly state: string
  /** What of it is under way, in words; then it cannot advance. */
  readonly busy?: string
  /** Why nothing of it may start, whatever its own state says. */
  readonly barred?: string
  /** This initiative holds it. */
  readonly held_by_us?: boolean
  /** What else tells this moment from another. */
  readonly mark?: string
  /** For the prompt. */
  readonly about?: string
}

/** Where the items stand that this initiative has made, and that have not settled. */
export interface OwnItem {
  readonly item_id: string
  readonly project: string
  readonly objective: string
  readonly state: string
}

/** Everything outside the initiative that steering looks at: read from committed state. */
export interface View {
  readonly members: readonly Sight[]
  readonly items: readonly OwnItem[]
  /** Those of the initiative's projects in which nothing starts. */
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
  /** Whoever asks has no name for it: one that waits for the same may stand for it. */
  readonly unnamed?: true
  readonly member?: Member
  /** Where somebody emitted the request: it is in the log already. */
  readonly event_id?: string
  readonly fingerprint?: string
}

/** From the steward: nothing is being assessed, and this is what is to be seen. */
interface Assess extends MessageBody {
  readonly type: 'assess'
  readonly trigger_id: string
  readonly view: View
}

/** From the steward: an answer is there, and this is what is to be seen. */
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
  /** The open question that it answers. */
  readonly question_id?: string
  /** Of an idempotency key. */
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
  /** Work items of its own that had not settled when it was asked for. */
  readonly items: readonly string[]
}

interface RecordOwnerAction extends MessageBody, Omit<OwnerAction, 'by' | 'at' | 'operator_origin'> {
  readonly type: 'record_owner_action'
  readonly fingerprint?: string
}

/** By a person, or by the steward from a reviewer's result. */
interface RecordFinding extends MessageBody, Pick<Finding, 'finding_id' | 'from' | 'to' | 'kind' | 'text' | 'refs'> {
  readonly type: 'record_finding'
  readonly audit?: Finding['audit']
  readonly fingerprint?: string
}

/** From a member campaign: a cycle of it has settled, and which of our findings its formation had seen. */
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
