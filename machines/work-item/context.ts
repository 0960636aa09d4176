/**
 * What a work item remembers and what it can be told. The context is the served document's own fields in groups,
 * and `internal`: what the moves need and nobody is shown.
 */

import type { Failure, Lane } from '../documents/run-request.ts'
import type { RunResult } from '../documents/run-result.ts'
import type {
  Disposition,
  OperatorAction,
  Resumption,
  SettledState,
  Source,
  WorkItemKind,
} from '../documents/work-item.ts'
import type { By, Message, MessageBody } from '../machine.ts'
import type { CreateRunRequest } from '../run-request/context.ts'
import type { CreateBody, CreationRecord } from '../second-create.ts'

/** What was asked for: made once, never changed. */
export interface AskedItem {
  readonly objective: string
  readonly kind: WorkItemKind
  readonly lane: Lane
  readonly origin: string
  readonly source: Source
  readonly not_before?: string
  readonly base_ref?: string
  readonly context?: Readonly<Record<string, unknown>>
  readonly payload?: Readonly<Record<string, unknown>>
  readonly labels?: readonly string[]
  readonly runner_id?: string
  readonly timeout_seconds?: number
  /** Keys of the projects that its run is told of beside its own: its runner is allowed for each of them. */
  readonly told_of?: readonly string[]
  readonly resumes?: string
  readonly submitted_trace_id?: string
  readonly submitted_by: By
}

/** The run request that the item was handed out as: the only one through which it can be settled. */
interface ItemRun {
  readonly id: string
  /** What of its repository the run holds for itself; null: nothing. */
  readonly repository: string | null
  readonly handed_out_at: string
  /** The attempt and the runner that began last; absent until one has. */
  readonly attempt?: number
  readonly runner_id?: string
  /** Begun before, and queued again: no runner has begun it since. */
  readonly waits?: true | undefined
  /** It has ended, and the item's owner has been told: nothing more is heard of it. */
  readonly reported?: true
  /** Of one whose source decides: the last agent of this attempt could not be reached; in its engine's words. */
  readonly outage?: string | undefined
  /** What its earlier attempts failed with. */
  readonly failures?: readonly Failure[]
  /** Of a campaign's cycle: the result of this attempt, which settles the item when the run is over. */
  readonly result?: RunEvent['event'] | undefined
}

interface WorkItemInternal {
  readonly creation: CreationRecord
  readonly span_id: string | null
  readonly parent_span_id: string | null
  readonly causation_id: string | null
  readonly gather_id: string | null
  /** How often it was handed out: the next run request's id derives from it. */
  readonly hand_outs: number
  /** A person wants it stopped while it runs. */
  readonly stopping: boolean
  /** And what it has not committed thrown away. */
  readonly discarding?: boolean
  /** Why, in the words of the last one who gave a reason. */
  readonly stop_reason?: string
  /** The run request that it was taken back from, until that has ended: who was told to stop may still be at work. */
  readonly taken_back?: string | undefined
}

export interface WorkItemContext {
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly trace_id: string
  readonly submitted_at: string
  /** When it came into the queue for the first time, which is when the log was told of it. */
  readonly announced_at?: string | undefined
  readonly asked: AskedItem
  readonly depends_on: readonly string[]
  /** One line. */
  readonly reason: string
  readonly started_at?: string | undefined
  readonly settled_at?: string | undefined
  readonly disposition?: Disposition | undefined
  readonly operator_actions: readonly OperatorAction[]
  readonly run?: ItemRun | undefined
  readonly resumptions: readonly Resumption[]
  readonly internal: WorkItemInternal
}

/** Puts it into the ledger. With `reason` it is queued at once; without, the scheduler finds the reason. */
export interface CreateWorkItem extends CreateBody, Omit<AskedItem, 'submitted_by'> {
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly trace_id: string
  readonly submitted_by: By
  readonly depends_on?: readonly string[]
  readonly reason?: string
  readonly span_id?: string | null
  readonly parent_span_id?: string | null
  readonly causation_id?: string | null
  readonly gather_id?: string | null
}

/** From the scheduler: the reason for which it waits. */
interface Admit extends MessageBody {
  readonly type: 'admit'
  readonly reason: string
}

/** From the scheduler: every rule passes. The run request is made by this step. */
interface HandOut extends MessageBody {
  readonly type: 'hand_out'
  readonly run_request: CreateRunRequest
}

/** From the scheduler: no runner can begin it as things stand. */
interface TakeBack extends MessageBody {
  readonly type: 'take_back'
  /** The rule that holds it back, in words. */
  readonly reason: string
}

/** From the scheduler: a dependency can never land. */
interface Block extends MessageBody {
  readonly type: 'block'
  readonly dependency: string
  readonly reason: string
}

interface Hold extends MessageBody {
  readonly type: 'hold'
}

interface Release extends MessageBody {
  readonly type: 'release'
  /** Why it will wait, by the scheduler's rules. */
  readonly reason: string
  /** Dependencies that can never land: it waits for them no more. */
  readonly unlandable?: readonly string[]
}

interface Close extends MessageBody {
  readonly type: 'close'
  readonly reason: string
  /** From its campaign, which needs nothing more of it: what it has kept is built upon as before. A person's gives that up. */
  readonly discharges?: true
}

interface Cancel extends MessageBody {
  readonly type: 'cancel'
  /** It stops as a member, with the initiative of that name: what has landed is let be. */
  readonly with_initiative?: string
  /** From its owner: what goes on is stopped, and what has settled is let be. A person's gives up what it still owes. */
  readonly stop_only?: true
  readonly reason?: string
  readonly discard_work?: boolean
}

/** From its owner, in a person's name: stopped, unless a runner has begun it. */
interface CancelWaiting extends MessageBody {
  readonly type: 'cancel_waiting'
  readonly reason?: string
}

interface Resume extends MessageBody {
  readonly type: 'resume'
  /** The item that continues the work: made by this step. */
  readonly child: CreateWorkItem
}

/** From the run request that it was handed out as. */
interface OfRun extends MessageBody {
  readonly run_request_id: string
  readonly attempt: number
}

interface RunStarted extends OfRun {
  readonly type: 'run_started'
  readonly runner_id: string
}

interface RunLost extends OfRun {
  readonly type: 'run_lost'
  readonly reason: string
}

interface RunRequeued extends OfRun {
  readonly type: 'run_requeued'
  /** Who queued it again, or what made it wait; absent: nobody had begun it. */
  readonly reason?: string
  /** What the attempt before failed with, where the retry policy has queued it again. */
  readonly failure?: Failure
}

/** An event that the runner stated, of a type that the ledger listens to. */
interface RunEvent extends OfRun {
  readonly type: 'run_event'
  readonly event: {
    readonly id: string
    readonly event_type: string
    readonly payload: Readonly<Record<string, unknown>>
  }
}

interface RunEnded extends OfRun {
  readonly type: 'run_ended'
  readonly outcome: 'completed' | 'failed' | 'cancelled'
  readonly failure?: Failure
  readonly result?: RunResult
  /** Who asked for the stop; absent: nobody did, or a rule. */
  readonly stopped_by?: By
  readonly stop_reason?: string
}

/** From an item that continues this one's work: how it settled. */
interface ResumptionSettled extends MessageBody {
  readonly type: 'resumption_settled'
  readonly item_id: string
  readonly state: SettledState
  readonly landed_commit?: string
  readonly on_trunk?: true
}

/**
 * From what compares items with trunk: the preserved work is there by another way. From that item, to the one that was to
 * go on with it: the same.
 */
interface Superseded extends MessageBody {
  readonly type: 'superseded'
  /** Absent: nobody has said as what. */
  readonly commit?: string
}

/** From the campaign or the initiative whose item it is: what came of it. */
interface Settle extends MessageBody {
  readonly type: 'settle'
  readonly state: 'landed' | 'cancelled' | 'failed'
  readonly reason: string
}

export type WorkItemBody =
  | CreateWorkItem
  | Admit
  | HandOut
  | TakeBack
  | Block
  | Hold
  | Release
  | Close
  | Cancel
  | CancelWaiting
  | Resume
  | RunStarted
  | RunLost
  | RunRequeued
  | RunEvent
  | RunEnded
  | ResumptionSettled
  | Superseded
  | Settle

export type WorkItemMessage = Message<WorkItemBody>
export type Of<T extends WorkItemBody['type']> = Message<Extract<WorkItemBody, { type: T }>>
