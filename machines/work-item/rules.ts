/**
 * Who may move a work item, and what counts as a repeat or is refused. The ledger's invariant is enforced here: an item
 * is settled only through the run request that it was handed out as, and once.
 */

import { isSettledItem, isTerminalItem, type SettledState } from '../documents/work-item.ts'
import { type By, type Refusal, SERVICE_BY, type SnapshotOf } from '../machine.ts'
import { creationRefusal, creationRepeat } from '../repeated-create.ts'
import { STOPPED, saysOutage } from '../run-request/failure.ts'
import type { Of, WorkItemContext, WorkItemMessage } from './context.ts'
import { closed, openResumption, settlementBy } from './moves.ts'
import { cycleOf, initiativeOrigin } from './owner.ts'
import { isDecidedBySource, syncFailureIn, waitsForProvider } from './results.ts'

const RUN_MESSAGES: ReadonlySet<string> = new Set(['run_started', 'run_lost', 'run_requeued', 'run_event', 'run_ended'])

export function isHandedOut({ run }: WorkItemContext): boolean {
  return run !== undefined
}

/** Whether no runner is at work on it, not even one that was told to stop. */
export function mayHandOut({ run, internal }: WorkItemContext): boolean {
  return run === undefined && internal.taken_back === undefined
}

/** Whether the run it was taken back from has ended. */
export function isTakenBack({ internal }: WorkItemContext, message: WorkItemMessage): boolean {
  return message.type === 'run_ended' && message.run_request_id === internal.taken_back
}

/**
 * Whether the run it was taken back from has landed the work: that counts even if someone wanted it stopped, since the
 * run may have begun before it heard of the stop.
 */
export function landsTakenBack(context: WorkItemContext, message: WorkItemMessage): boolean {
  if (message.type !== 'run_event' || message.run_request_id !== context.internal.taken_back) return false
  return settlementBy(context, message)?.state === 'landed'
}

/** Whether the message comes from the item's current run request, and is not about an attempt that is over. */
export function isOfRun({ run }: WorkItemContext, message: WorkItemMessage): boolean {
  const { run_request_id, attempt } = message as Of<'run_started'>
  return run !== undefined && run.id === run_request_id && attempt >= (run.attempt ?? 0)
}

export function settlesAs(context: WorkItemContext, message: WorkItemMessage, state: SettledState): boolean {
  return isOfRun(context, message) && settlementBy(context, message as Of<'run_event'>)?.state === state
}

/**
 * Whether the event says that an agent session of the run ended because its provider was unreachable, or that one has
 * worked since; the source that decides the item wants to know. For a task, only its result or its run says why it
 * failed.
 */
export function tellsOfProvider(context: WorkItemContext, message: Of<'run_event'>): boolean {
  const { event_type, payload } = message.event
  if (event_type !== 'agent_session_ended' || !isDecidedBySource(context.asked)) return false
  const isNews = payload.status === 'unavailable' || (payload.status === 'ok' && context.run?.outage !== undefined)
  return isNews && isOfRun(context, message)
}

/** Whether a maintenance engine says that it could not bring its checkout up to date: the run may end with that. */
export function tellsOfSync(context: WorkItemContext, message: Of<'run_event'>): boolean {
  const { event_type, payload } = message.event
  return (
    context.asked.kind === 'maintenance' &&
    syncFailureIn(event_type, payload) !== undefined &&
    isOfRun(context, message)
  )
}

/**
 * Whether the event is the terminal event of a run that is being stopped: its item's owner wants that, or the run is to
 * discard its work, or the event says so. It settles nothing, since the end of the run says why it was stopped.
 */
export function isResultOfStopped(context: WorkItemContext, message: Of<'run_event'>): boolean {
  const { event, discard_work } = message
  const isStopped = context.internal.stopping || discard_work === true || event.payload.failure_class === STOPPED
  return isStopped && isOfRun(context, message) && settlementBy(context, message) !== undefined
}

/**
 * Whether the result says that the provider of the agent was unavailable, and the run itself says the same next: it is
 * then tried again, or fails for good, and the item settles with it.
 */
export function tellsOfOutage(context: WorkItemContext, message: Of<'run_event'>): boolean {
  const isOutage = waitsForProvider(context.asked) && saysOutage(message.event.payload.failure_code)
  return isOutage && settlesAs(context, message, 'failed')
}

/**
 * Whether the result of a campaign's cycle says that the run failed. Only the run itself states the failure, and that
 * decides how the campaign goes on, so the item settles when the run is over.
 */
export function awaitsEnd(context: WorkItemContext, message: WorkItemMessage): boolean {
  return cycleOf(context.asked) !== undefined && settlesAs(context, message, 'failed')
}

/** Whether the run is over and its result was held until now; a result that is to be discarded settles nothing. */
export function endsWithResult(context: WorkItemContext, message: WorkItemMessage): boolean {
  const { discard_work } = message as Of<'run_ended'>
  return isOfRun(context, message) && context.run?.result !== undefined && discard_work !== true
}

/** Whether the item is not being stopped yet, or its uncommitted work was to be kept and is now to be discarded. */
export function asksForMore({ internal }: WorkItemContext, { discard_work }: Of<'cancel'>): boolean {
  return !internal.stopping || (discard_work === true && internal.discarding !== true)
}

/** Whether the run ended as stopped: a person stopped the run itself, or its runner did. */
export function isStopped({ outcome, failure, discard_work }: Of<'run_ended'>): boolean {
  return outcome === 'cancelled' || failure?.class === STOPPED || (outcome === 'completed' && discard_work === true)
}

/** Whether the item still waits for this dependency, which can never land. */
export function isBlockedBy({ run, depends_on }: WorkItemContext, { dependency }: Of<'block'>): boolean {
  return run === undefined && depends_on.includes(dependency)
}

export function neverStarted({ started_at, run }: WorkItemContext): boolean {
  return started_at === undefined && run === undefined
}

/** Whether its work is preserved under a ref. */
export function keepsWork({ disposition }: WorkItemContext): boolean {
  return disposition?.preservation_ref !== undefined
}

export function mayResume(context: WorkItemContext): boolean {
  return keepsWork(context) && openResumption(context) === undefined
}

export function isResumption({ resumptions }: WorkItemContext, { item_id }: Of<'resumption_settled'>): boolean {
  return resumptions.some((one) => one.item_id === item_id)
}

/** Whether this outcome of the resumption was not known yet. */
function isNews({ resumptions }: WorkItemContext, { item_id, state }: Of<'resumption_settled'>): boolean {
  return resumptions.some((one) => one.item_id === item_id && one.state !== state)
}

/** Whether the last action on the item is this one, by the same person, who may have lost the answer and asks again. */
function isLastDeed({ operator_actions }: WorkItemContext, { type, by }: Of<'release' | 'close'>): boolean {
  const last = operator_actions.at(-1)
  return last?.command === type && last.by?.name === by?.name
}

/** Whether the held item is held by the service, for the initiative of that origin. */
export function isHeldFor({ operator_actions }: WorkItemContext, origin: By['origin']): boolean {
  const last = operator_actions.at(-1)
  return last?.command === 'hold' && last.by?.id === SERVICE_BY.id && last.origin === origin
}

/** Whether its initiative has prepared the item, which is held, for a person to release. */
export function isStaged(context: WorkItemContext): boolean {
  const { kind, ref, role } = context.asked.source
  return kind === 'initiative' && role === 'cycle' && isHeldFor(context, initiativeOrigin(ref))
}

/** Whether a person holds what so far was only held for an initiative. */
function takesOver({ operator_actions }: WorkItemContext, { by }: Of<'hold'>): boolean {
  return operator_actions.at(-1)?.by?.id === SERVICE_BY.id && by?.id !== SERVICE_BY.id
}

/** People release whatever is held; an initiative only what is held for it. */
function mayRelease(context: WorkItemContext, { by }: Of<'release'>): boolean {
  return by?.id !== SERVICE_BY.id || isHeldFor(context, by.origin)
}

/** A word for a message that repeats one taken before, or is about something that is over; undefined otherwise. */
export function repeats({ value, context }: SnapshotOf<WorkItemContext>, message: WorkItemMessage): string | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRepeat(context.internal.creation, message)
    case 'hold':
      return value === 'held' && !takesOver(context, message) ? 'already_held' : undefined
    case 'release':
      if (value === 'held' && !mayRelease(context, message)) return 'held_by_another'
      return (value === 'queued' || value === 'running') && isLastDeed(context, message)
        ? 'already_released'
        : undefined
    case 'close':
      if (message.discharges === true && isTerminalItem(value)) return 'already_settled'
      return value === 'cancelled' && isLastDeed(context, message) && context.reason === closed(message).reason
        ? 'already_closed'
        : undefined
    case 'cancel':
      if (value === 'cancelled') return 'already_cancelled'
      if (message.stop_only === true && isSettledItem(value)) return 'already_settled'
      if (value === 'landed' && message.with_initiative !== undefined) return 'already_settled'
      return value === 'running' && !asksForMore(context, message) ? 'already_stopping' : undefined
    case 'cancel_waiting':
      return value === 'running' ? 'runs_on' : isSettledItem(value) ? 'already_settled' : undefined
    case 'resume':
      return context.resumptions.some((one) => one.item_id === message.child.id) ? 'replay' : undefined
    case 'resumption_settled':
      return value === 'preserved' || isNews(context, message) ? undefined : 'already_settled'
    case 'superseded':
      if (value === 'running') return 'runs_on'
      if (value === 'preserved' || (value === 'failed' && keepsWork(context))) return undefined
      return isSettledItem(value) ? 'already_settled' : undefined
    case 'settle':
      return isSettledItem(value) && value !== 'preserved' ? 'already_settled' : undefined
    default:
      return RUN_MESSAGES.has(message.type) ? runRepeat(value, context, message) : undefined
  }
}

/** The word for news of a run that is over or no longer this item's, and for events that settle nothing. */
function runRepeat(value: string, context: WorkItemContext, message: WorkItemMessage): string | undefined {
  if (isTakenBack(context, message) || (value !== 'landed' && landsTakenBack(context, message))) return undefined
  if (isSettledItem(value)) return 'already_settled'
  if (!isOfRun(context, message)) return 'of_another_run'
  if (message.type === 'run_ended') return context.run?.reported === true ? 'already_reported' : undefined
  if (message.type === 'run_event' && settlementBy(context, message) === undefined)
    return tellsOfProvider(context, message) || tellsOfSync(context, message) ? undefined : 'settles_nothing'
  // Lost or queued again before it began: the item waits as before.
  return value !== 'running' && (message.type === 'run_lost' || message.type === 'run_requeued') ? 'waits' : undefined
}

/** What to do instead of holding an item that had begun: its run is queued again, and its work goes on from there. */
const WAITS_AGAIN = ', and its run waits to go on. Pause its lane to keep it waiting, or cancel it'

/** Why a message was refused, if there is more to say than that the state does not allow it. */
export function refusal(
  { value, context }: SnapshotOf<WorkItemContext>,
  message: WorkItemMessage,
): Refusal | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRefusal(context.internal.creation, message, { what: 'work item', isIdFromKey: true })
    case 'hold':
      return illegal(`only queued items can be held: it is ${value}${context.run?.waits === true ? WAITS_AGAIN : ''}`)
    case 'release':
      if (value === 'needs_decision') return illegal('it has already started: close it, or submit new work')
      return illegal(`only held items, and those blocked by a dependency, can be released: it is ${value}`)
    case 'close':
      return illegal(`only items that have ended and still owe something can be closed: it is ${value}`)
    case 'cancel':
      return illegal(`it is ${value}: there is nothing to cancel`)
    case 'resume':
      return illegal(whyNotResume(value, context))
    default:
      return undefined
  }
}

function whyNotResume(value: string, context: WorkItemContext): string {
  if (value !== 'preserved') return `only preserved items can be resumed: it is ${value}`
  const open = openResumption(context)
  return open === undefined
    ? 'it has no ref under which its work is preserved'
    : `it is already being resumed as ${open}`
}

function illegal(detail: string): Refusal {
  return { code: 'illegal_move', detail }
}
