/**
 * What a work item remembers and the messages it takes. The context holds the served document's own fields in groups,
 * plus `internal`, which the moves need and which is never served.
 */

import type { Failure } from '../documents/run-request.ts'
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
import type { CreateBody, CreationRecord } from '../repeated-create.ts'
import type { CreateRunRequest } from '../run-request/context.ts'
import type { Lane } from '../run-request/lanes.ts'

/** What was asked for: fixed at creation, never changed. */
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
  /** Keys of the further projects whose data its run will see: its runner must be allowed each of them. */
  readonly told_of?: readonly string[]
  readonly resumes?: string
  readonly submitted_trace_id?: string
  readonly submitted_by: By
}

/** The run request that the item was handed out as: the only one through which the item can settle. */
interface ItemRun {
  readonly id: string
  /** The repository that the run locks; null if it locks none. */
  readonly repository: string | null
  readonly handed_out_at: string
  /** The last attempt that began, and its runner; absent until one has begun. */
  readonly attempt?: number
  readonly runner_id?: string
  /** The run had begun and was queued again; no runner has begun it since. */
  readonly waits?: true | undefined
  /** The run has ended and the item's owner has been told; nothing more is taken from it. */
  readonly reported?: true
  /** For items that their source decides: this attempt's last agent could not be reached. In its engine's words. */
  readonly outage?: string | undefined
  /** For maintenance: why this attempt's engine could not bring its checkout up to date. */
  readonly sync_failure?: string | undefined
  /** The failures of its earlier attempts. */
  readonly failures?: readonly Failure[]
  /** For a campaign's cycle: this attempt's result, which settles the item when the run is over. */
  readonly result?: RunEvent['event'] | undefined
}

interface WorkItemInternal {
  readonly creation: CreationRecord
  readonly span_id: string | null
  readonly parent_span_id: string | null
  readonly causation_id: string | null
  readonly gather_id: string | null
  /** Number of hand-outs; the next run request's id derives from it. */
  readonly hand_outs: number
  /** A person wants the item stopped while it runs. */
  readonly stopping: boolean
  /** The stop discards uncommitted work. */
  readonly discarding?: boolean
  /** The most recently given reason for the stop. */
  readonly stop_reason?: string
  /** The run request the item was taken back from, until that has ended: its runner may still be at work. */
  readonly taken_back?: string | undefined
}

export interface WorkItemContext {
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly trace_id: string
  readonly submitted_at: string
  /** When it first entered the queue; that is when `work_item_submitted` was logged. */
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

/** Puts the item into the ledger. With `reason` it is queued at once; without, the scheduler finds the reason. */
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

/** From the scheduler: why the item waits. */
interface Admit extends MessageBody {
  readonly type: 'admit'
  readonly reason: string
}

/** From the scheduler: every rule passes. This step creates the run request. */
interface HandOut extends MessageBody {
  readonly type: 'hand_out'
  readonly run_request: CreateRunRequest
}

/** From the scheduler: no runner can begin the run as things stand. */
interface TakeBack extends MessageBody {
  readonly type: 'take_back'
  /** The scheduler's rule that holds the item back, in words. */
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
  /** Why the item will wait, by the scheduler's rules. */
  readonly reason: string
  /** Dependencies that can never land; the item stops waiting for them. */
  readonly unlandable?: readonly string[]
}

interface Close extends MessageBody {
  readonly type: 'close'
  readonly reason: string
  /**
   * From the item's campaign, which needs nothing more of it: later cycles still build on its preserved work. A
   * person's close gives that work up.
   */
  readonly discharges?: true
}

interface Cancel extends MessageBody {
  readonly type: 'cancel'
  /** Name of the initiative with which the item, as a member, is stopped; a landed item is left alone. */
  readonly with_initiative?: string
  /**
   * From the item's owner: stops a run under way, and leaves a settled item alone. A person's cancel also gives up what
   * a settled item still owes.
   */
  readonly stop_only?: true
  readonly reason?: string
  readonly discard_work?: boolean
}

/** From the item's owner, in a person's name: cancels the item unless a runner has begun it. */
interface CancelWaiting extends MessageBody {
  readonly type: 'cancel_waiting'
  readonly reason?: string
}

interface Resume extends MessageBody {
  readonly type: 'resume'
  /** The item that continues the work; this step creates it. */
  readonly child: CreateWorkItem
}

/** From the run request that the item was handed out as. */
interface OfRun extends MessageBody {
  readonly run_request_id: string
  readonly attempt: number
  /** The run is being stopped, or was, and what it did is to be thrown away. */
  readonly discard_work?: true
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
  /** Who queued it again, or what made it wait; absent if no runner had begun it. */
  readonly reason?: string
  /** The failure of the previous attempt, if the retry policy queued the run again. */
  readonly failure?: Failure
  /** Where the work is that attempts have kept whose provider was away: the next one begins there. */
  readonly preservation_ref?: string
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
  /** Who asked for the stop; absent if nobody did, or a rule did. */
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
 * From whatever compares items with trunk: the preserved work has reached trunk another way. This item sends the same
 * message to the item that was to continue its work.
 */
interface Superseded extends MessageBody {
  readonly type: 'superseded'
  /** The commit on trunk; absent if nobody has named it. */
  readonly commit?: string
}

/** From the campaign or the initiative that owns the item: how it settles. */
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
