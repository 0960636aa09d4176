/** What each move of a work item changes and asks for: pure functions of (context, message). */
import { reasonOf } from '../clipped.ts'
import {
  OPERATOR_ACTIONS_MAX,
  type OperatorCommand,
  type Resumption,
  type SettledState,
} from '../documents/work-item.ts'
import { type By, SERVICE_BY, type SendParams } from '../machine.ts'
import { creationRecord } from '../repeated-create.ts'
import type { AskedItem, Of, WorkItemContext, WorkItemMessage } from './context.ts'
import { isOnTrunk, type Settlement, settlementOf, syncFailureIn, withoutResult } from './results.ts'

type Change = Partial<WorkItemContext>

/** The context of a newly submitted item. */
export function create(message: Of<'create'>): WorkItemContext {
  const { id, project, project_id, trace_id, at, depends_on = [], reason } = message
  return {
    id,
    project,
    project_id,
    trace_id,
    submitted_at: at,
    ...(reason === undefined ? {} : { announced_at: at }),
    asked: askedOf(message),
    depends_on,
    reason: reasonOf(reason ?? 'the scheduler has not looked at it yet'),
    operator_actions: [],
    resumptions: [],
    internal: {
      creation: creationRecord(message),
      span_id: message.span_id ?? null,
      parent_span_id: message.parent_span_id ?? null,
      causation_id: message.causation_id ?? null,
      gather_id: message.gather_id ?? null,
      hand_outs: 0,
      stopping: false,
    },
  }
}

/** What the item that continues the work takes over. */
const LASTING = ['context', 'labels', 'runner_id', 'timeout_seconds'] as const
const OPTIONAL = [...LASTING, 'not_before', 'base_ref', 'payload', 'told_of', 'resumes', 'submitted_trace_id'] as const

function askedOf(message: Of<'create'>): AskedItem {
  const { objective, kind, lane, origin, source, submitted_by } = message
  return { objective, kind, lane, origin, source, submitted_by, ...givenOf(message, OPTIONAL) }
}

function givenOf(asked: Partial<AskedItem>, names: readonly (keyof AskedItem)[]): Partial<AskedItem> {
  return Object.fromEntries(names.flatMap((name) => (asked[name] === undefined ? [] : [[name, asked[name]]])))
}

/** What continuing the work needs of what was asked; also `runner_id`: the work may exist only with that runner. */
export function lastingOf(asked: AskedItem): Partial<AskedItem> {
  return givenOf(asked, LASTING)
}

/** Takes the scheduler's reason for which the item waits. */
export function admit(message: Of<'admit'>): Change {
  return { reason: reasonOf(message.reason), announced_at: message.at }
}

export function handOut({ internal }: WorkItemContext, { run_request, at }: Of<'hand_out'>): Change {
  const { id, repository = null, access } = run_request
  return {
    reason: `handed out: ${id}`,
    run: { id, repository: access === 'read_only' ? null : repository, handed_out_at: at },
    internal: { ...internal, hand_outs: internal.hand_outs + 1 },
  }
}

/** The run request that this hand-out creates; `hand_out` has put its id into the context. */
export function createRun({ run_request }: Of<'hand_out'>): SendParams {
  return { to: { kind: 'run_request', id: run_request.id }, message: run_request }
}

/** Cancels the run, if there is one: no runner may begin it, and one that has is told to stop. */
export function cancelRun({ run, internal }: WorkItemContext, message: WorkItemMessage): SendParams | undefined {
  if (run === undefined || run.reported === true) return undefined
  const { by, reason, discard_work } = message as Of<'cancel'>
  const isStop = message.type === 'cancel' || message.type === 'cancel_waiting'
  return {
    to: { kind: 'run_request', id: run.id },
    message: {
      type: 'cancel',
      reason: isStop
        ? (reason ?? internal.stop_reason ?? 'its work item was cancelled')
        : 'its work item was taken back',
      ...(by === undefined ? {} : { by }),
      ...(discard_work === undefined ? {} : { discard_work }),
    },
  }
}

/** Records what an owner did and the state it was done in; the first part of every owner's move. */
export function operate(
  context: WorkItemContext,
  message: Of<'hold' | 'release' | 'close' | 'cancel' | 'cancel_waiting' | 'resume'>,
  previous_state: string,
): Change {
  const { type, by, at } = message
  const action = {
    command: type === 'cancel_waiting' ? 'cancel' : (type as OperatorCommand),
    origin: by?.origin ?? 'unknown',
    previous_state: previous_state as SettledState,
    previous_reason: context.reason,
    ...(context.settled_at === undefined ? {} : { previous_settled_at: context.settled_at }),
    at,
    ...(by === undefined ? {} : { by }),
  }
  return { operator_actions: [...context.operator_actions, action].slice(-OPERATOR_ACTIONS_MAX) }
}

/** The service holds nothing by itself: only for the initiative that its origin names. */
export function hold(context: WorkItemContext, { by }: Of<'hold'>): Change {
  const holder = by?.id === SERVICE_BY.id ? by.origin : by?.name
  return { ...takeBack(context), reason: reasonOf(`held by ${holder ?? 'an operator'}`), run: undefined }
}

/** No runner can begin it as things stand: it goes back to the queue, and locks nothing meanwhile. */
export function waitInQueue(context: WorkItemContext, { reason }: Of<'take_back'>): Change {
  return { ...takeBack(context), reason: reasonOf(reason), run: undefined }
}

/**
 * Detaches the item from its current run: from then on only a landing of that run matters, but its runner counts as at
 * work until the run has ended.
 */
export function takeBack({ run, internal }: WorkItemContext): Change {
  const isUnderWay = run !== undefined && run.reported !== true
  return isUnderWay ? { internal: { ...internal, taken_back: run.id } } : {}
}

/** The run it was taken back from has ended: the item, or the one that continues it, may be handed out again. */
export function forgetTakenBack({ internal }: WorkItemContext): Change {
  return { internal: { ...internal, taken_back: undefined } }
}

/** Back to the queue, without the dependencies that can never land. */
export function release({ depends_on }: WorkItemContext, { reason, unlandable = [] }: Of<'release'>): Change {
  return {
    reason: reasonOf(reason),
    depends_on: depends_on.filter((id) => !unlandable.includes(id)),
    settled_at: undefined,
    disposition: undefined,
  }
}

interface Stop {
  readonly by?: By | undefined
  readonly reason?: string | undefined
  readonly at: string
}

/** Cancelling and closing keep what is known of how the work ended. */
export function cancelled({ by, reason, at }: Stop): Change {
  const why = reason === undefined ? '' : `: ${reason}`
  return { reason: reasonOf(`cancelled by ${by?.name ?? 'an operator'}${why}`), settled_at: at }
}

export function closed(message: Of<'close'>): Change {
  return { reason: reasonOf(`closed: ${message.reason}`), settled_at: message.at }
}

/** Asked to stop while it runs: settles when its run ends. A stronger stop without a reason keeps the first one's. */
export function stopping({ internal, run }: WorkItemContext, { discard_work = false, reason }: Of<'cancel'>): Change {
  const why = reason === undefined ? {} : { stop_reason: reason }
  const stop = { ...internal, stopping: true, discarding: discard_work, ...why }
  // A result held until the end of the run settles nothing any more: the stop does.
  return { reason: 'stopping', internal: stop, run: { ...run!, result: undefined } }
}

export function begin(context: WorkItemContext, message: Of<'run_started'>): Change {
  const { attempt, runner_id, at } = message
  const again = context.started_at === undefined ? '' : ` again (attempt ${attempt})`
  return {
    ...(context.internal.stopping ? {} : { reason: `running on ${runner_id}${again}` }),
    started_at: context.started_at ?? at,
    run: { ...context.run!, attempt, runner_id, waits: undefined },
  }
}

export function lose({ internal, run }: WorkItemContext, message: Of<'run_lost'>): Change {
  const reason = reasonOf(`its run is lost: ${message.reason}; requeue or fail ${message.run_request_id}`)
  return { run: { ...run!, waits: undefined }, ...(internal.stopping ? {} : { reason }) }
}

/** Failures of earlier attempts that are remembered: a provider may be away a hundred times. */
const FAILURES_MAX = 20

export function waitAgain({ internal, run, disposition }: WorkItemContext, message: Of<'run_requeued'>): Change {
  const { attempt, failure, reason, preservation_ref } = message
  const why = reason === undefined ? '' : `: ${reason}`
  const known = run!.failures ?? []
  const failures = failure === undefined ? {} : { failures: [...known, failure].slice(-FAILURES_MAX) }
  return {
    ...(internal.stopping
      ? {}
      : { reason: reasonOf(`its run is waiting for a runner again (attempt ${attempt})${why}`) }),
    // The next attempt may find the provider back, and the checkout in order.
    run: { ...run!, attempt, waits: true, outage: undefined, sync_failure: undefined, result: undefined, ...failures },
    ...(preservation_ref === undefined ? {} : { disposition: { ...disposition, preservation_ref } }),
  }
}

/** How a run's terminal event settles its item; undefined if the event settles nothing. */
export function settlementBy(
  { asked }: WorkItemContext,
  { event }: Pick<Of<'run_event'>, 'event'>,
): Settlement | undefined {
  return settlementOf(asked, event.event_type, event.payload)
}

export function settleByEvent(context: WorkItemContext, { event, at }: Pick<Of<'run_event'>, 'event' | 'at'>): Change {
  const settlement = settlementBy(context, { event })!
  return { reason: reasonOf(settlement.reason), settled_at: at, ...keeping(context, settlement) }
}

/** A runner that failed, or asks, and names no place has not taken away what earlier attempts have kept. */
function keeping({ disposition: before }: WorkItemContext, { state, disposition }: Settlement): Change {
  if (disposition === undefined) return {}
  const ref = state === 'failed' || state === 'needs_decision' ? before?.preservation_ref : undefined
  return { disposition: ref === undefined ? disposition : { preservation_ref: ref, ...disposition } }
}

/** Keeps the result that settles the item when its run is over. Where the work is stays recorded in any case. */
export function awaitEnd(context: WorkItemContext, { event }: Of<'run_event'>): Change {
  const settlement = settlementBy(context, { event })!
  const words = reasonOf(`${settlement.reason} (its run has not ended)`)
  return { reason: words, ...keeping(context, settlement), run: { ...context.run!, result: event } }
}

export function settleByAwaited(context: WorkItemContext, { at }: Of<'run_ended' | 'run_lost'>): Change {
  return settleByEvent(context, { event: context.run!.result!, at })
}

/** The result of a run that is being stopped: records where the work is. */
export function noteResult(context: WorkItemContext, message: Of<'run_event'>): Change {
  return keeping(context, settlementBy(context, message)!)
}

/** The run has ended, and the item's owner decides what came of it. */
export function report({ asked, run }: WorkItemContext): Change {
  return { reason: `its run has ended: its ${asked.source.kind} decides`, run: { ...run!, reported: true } }
}

/** The run's last session counts: an agent that worked after an outage has ended it. */
export function noteProvider({ run }: WorkItemContext, { event }: Of<'run_event'>): Change {
  const { status, error } = event.payload
  const outage = status === 'ok' ? undefined : reasonOf(typeof error === 'string' ? error : '')
  return { run: { ...run!, outage } }
}

/** The engine says why it could not bring its checkout up to date. */
export function noteSync({ run }: WorkItemContext, { event }: Of<'run_event'>): Change {
  return { run: { ...run!, sync_failure: syncFailureIn(event.event_type, event.payload) } }
}

/** The run has ended and nothing had settled the item. */
export function settleByEnd(context: WorkItemContext, message: Of<'run_ended'>): Change {
  const settled = { reason: reasonOf(reasonOfEnd(context, message)), settled_at: message.at }
  return message.discard_work === true ? { ...settled, ...discarded(context) } : settled
}

/** Nothing continues discarded work, even if its runner has kept it. */
function discarded({ run, disposition }: WorkItemContext): Change {
  const { preservation_ref: _, ...rest } = disposition ?? {}
  return { run: { ...run!, result: undefined }, ...(disposition === undefined ? {} : { disposition: rest }) }
}

function reasonOfEnd({ asked, run }: WorkItemContext, message: Of<'run_ended'>): string {
  const { outcome, failure, stopped_by, stop_reason, discard_work } = message
  const synced = run?.sync_failure === undefined ? '' : `the checkout sync was refused (${run.sync_failure}): `
  if (outcome === 'failed' && failure !== undefined) {
    const { class: failureClass, code, message } = failure
    return `run failed (${failureClass}${code === undefined ? '' : `, ${code}`}): ${synced}${message}`
  }
  if (outcome === 'completed' && discard_work !== true) return `${synced}${withoutResult(asked)}`
  const who = stopped_by === undefined ? 'run cancelled' : `run cancelled by ${stopped_by.name}`
  return stop_reason === undefined ? who : `${who}: ${stop_reason}`
}

/** The stop that a person asked for is complete. */
export function stopped(context: WorkItemContext, { at, discard_work }: Of<'run_ended'>): Change {
  const { operator_actions, internal } = context
  const { by } = operator_actions.at(-1) ?? {}
  const isDiscarded = internal.discarding === true || discard_work === true
  return { ...cancelled({ by, reason: internal.stop_reason, at }), ...(isDiscarded ? discarded(context) : {}) }
}

export function settle(message: Of<'settle' | 'block'>): Change {
  return { reason: reasonOf(message.reason), settled_at: message.at }
}

export function resume(context: WorkItemContext, { child }: Of<'resume'>): Change {
  const resumptions: Resumption[] = [...context.resumptions, { item_id: child.id }]
  return { reason: `resumed as ${child.id}`, resumptions }
}

export function createChild({ child }: Of<'resume'>): SendParams {
  return { to: { kind: 'work_item', id: child.id }, message: child }
}

/** An item that continues this one's work has settled. */
export function noteResumption(context: WorkItemContext, message: Of<'resumption_settled'>): Change {
  const { item_id, state } = message
  return { reason: `resumed as ${item_id}, which is ${state}`, ...recordResumption(context, message) }
}

/** The same if this item is already over, for a reason of its own. */
export function recordResumption({ resumptions }: WorkItemContext, message: Of<'resumption_settled'>): Change {
  const { item_id, state } = message
  return { resumptions: resumptions.map((one) => (one.item_id === item_id ? { item_id, state } : one)) }
}

export function landByResumption(context: WorkItemContext, message: Of<'resumption_settled'>): Change {
  const { item_id, landed_commit } = message
  return {
    ...noteResumption(context, message),
    reason: `its work landed with ${item_id}`,
    settled_at: message.at,
    disposition: { ...context.disposition, ...(landed_commit === undefined ? {} : { landed_commit }) },
  }
}

export function landBySupersession({ disposition }: WorkItemContext, { commit, at }: Of<'superseded'>): Change {
  return {
    reason: reasonOf(`its work is on trunk${as(commit)}`),
    settled_at: at,
    disposition: { ...disposition, ...(commit === undefined ? {} : { landed_commit: commit }) },
  }
}

function as(commit: string | undefined): string {
  return commit === undefined ? '' : ` as ${commit}`
}

/** Tells the item that was to continue this work that it reached trunk another way; a begun item ignores it. */
export function passOn(context: WorkItemContext, { commit }: Of<'superseded'>): SendParams | undefined {
  const id = openResumption(context)
  const message = { type: 'superseded', ...(commit === undefined ? {} : { commit }) } as const
  return id === undefined ? undefined : { to: { kind: 'work_item', id }, message }
}

/** The work that this item was to continue has reached trunk another way. */
export function supersede({ commit, at }: Of<'superseded'>): Change {
  return { reason: reasonOf(`not begun: the work it was to continue is on trunk${as(commit)}`), settled_at: at }
}

export function openResumption({ resumptions }: WorkItemContext): string | undefined {
  return resumptions.find(({ state }) => state === undefined)?.item_id
}

/** Tells the item whose work this one continues how this one settled. */
export function tellResumed(
  { id, asked, disposition }: WorkItemContext,
  message: WorkItemMessage,
  state: SettledState,
): SendParams | undefined {
  if (asked.resumes === undefined) return undefined
  const landed_commit = disposition?.landed_commit
  const landed = landed_commit === undefined ? {} : { landed_commit }
  const onTrunk = isOnTrunk(message) ? ({ on_trunk: true } as const) : {}
  const news = { type: 'resumption_settled', item_id: id, state, ...landed, ...onTrunk } as const
  return { to: { kind: 'work_item', id: asked.resumes }, message: news }
}
