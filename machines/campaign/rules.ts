/** Who may move a campaign, and where a step leads: guards, repeats, and why a move is refused. */

import { decidedOtherwise } from '../decision-repeats.ts'
import { CYCLES_IN_ALL_MAX } from '../documents/campaign.ts'
import { nameOf, type Refusal, type SnapshotOf } from '../machine.ts'
import { creationRefusal, creationRepeat } from '../repeated-create.ts'
import { JOINED_MAX, joinedCount } from './advance.ts'
import { isCalledOff } from './chain.ts'
import type { CampaignContext, CampaignMessage, Of } from './context.ts'
import { definitionFaults } from './evidence.ts'
import { type Verdict, verdictOf } from './formation.ts'
import { isKnown } from './initiatives.ts'
import { completion } from './owners.ts'
import { couldNotBegin, outageIn, resultOf } from './results.ts'

const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled'])
const RUNNING: ReadonlySet<string> = new Set(['staged', 'active'])

/** Whether nothing follows any more, even if its cycle is still being stopped. */
const isOver = (value: string): boolean => OVER.has(value) || value === 'cancelling'

export function isSound(message: Of<'create'>): boolean {
  return definitionFaults(message).length === 0
}

/** Whether the run of the advance under way has ended. */
export function reports({ work }: CampaignContext, { item_id }: Of<'item_reported'>): boolean {
  return work?.role === 'advance' && work.item_id === item_id
}

export function verdictIs(context: CampaignContext, message: Of<'item_reported'>, is: Verdict['is']): boolean {
  return reports(context, message) && verdictOf(context, message).is === is
}

/** Whether the message is about the cycle under way. */
export function endsCycle({ work }: CampaignContext, { item_id }: { readonly item_id: string }): boolean {
  return work?.role === 'cycle' && work.item_id === item_id
}

export function endsAdvance({ work }: CampaignContext, { item_id }: Of<'item_settled'>): boolean {
  return work?.role === 'advance' && work.item_id === item_id
}

/** Whether the cycle ended with a typed result, so that it had begun. */
export function hasResult(context: CampaignContext, message: Of<'item_settled'>): boolean {
  return endsCycle(context, message) && message.terminal !== undefined && !couldNotBegin(message)
}

/** Whether it is news of a past cycle that is remembered, or whose work is kept. */
export function isOfHistory({ history, internal }: CampaignContext, message: Of<'item_settled'>): boolean {
  const { item_id, state, given_up } = message
  const isNews = history.some(({ outcome }) => outcome.item_id === item_id && outcome.state !== state)
  return isNews || ((given_up === true || state === 'landed') && internal.kept.some((one) => one.item_id === item_id))
}

/** Where the campaign goes next, with the result that has just come or the one that was kept. */
type Outlook = 'form' | 'escalate' | 'pause' | 'wait'

export function outlook(context: CampaignContext, message: CampaignMessage): Outlook {
  const isEnd = message.type === 'item_settled'
  if (!isEnd && context.work !== undefined) return 'wait'
  if (isEnd && outageIn(message) !== undefined) return 'pause'
  const result = resultOf(context, message)
  if (isEnd && result === undefined && !isCalledOff(context, message)) return 'escalate'
  const authorized = context.authorized_by ?? (message.type === 'advance' ? undefined : message.by)
  if (authorized === undefined) return 'escalate'
  const { verdict } = result?.payload ?? {}
  return verdict === 'blocked_on_decision' || verdict === 'runner_error' ? 'escalate' : 'form'
}

export function isEmitted({ event_id }: Of<'advance'>): boolean {
  return event_id !== undefined
}

export function joinsForming(context: CampaignContext, message: Of<'advance'>): boolean {
  return isEmitted(message) && context.work?.role === 'advance' && joinedCount(context) < JOINED_MAX
}

/** Whether it may be resumed: a spent budget must be extended, and no budget grows without bound. */
export function hasCycles(context: CampaignContext, message: Of<'resume'>): boolean {
  const { cycles_completed, max_cycles } = context
  return (cycles_completed < max_cycles || (message.add_cycles ?? 0) > 0) && !addsTooMany(context, message)
}

function addsTooMany({ max_cycles }: CampaignContext, { add_cycles = 0 }: Of<'resume'>): boolean {
  return add_cycles > 0 && max_cycles + add_cycles > CYCLES_IN_ALL_MAX
}

function tooManyCycles({ max_cycles }: CampaignContext): Refusal {
  const detail = `must not raise its budget above ${CYCLES_IN_ALL_MAX} cycles: it has ${max_cycles}`
  return {
    code: 'invalid_body',
    detail: 'The budget would become too large.',
    errors: [{ pointer: '/add_cycles', detail }],
  }
}

/** Also for a campaign that was cancelled gracefully, and whose cycle was to finish. */
export function stopsCycle({ work, stopping }: CampaignContext, { now }: Of<'cancel'>): boolean {
  return now === true && work?.role === 'cycle' && stopping === undefined
}

/** Whether a stop under way was to keep uncommitted work that is now to be discarded. */
export function discardsCycle({ stopping }: CampaignContext, { discard_work }: Of<'cancel'>): boolean {
  return discard_work === true && stopping?.discard_work === false
}

export function endsStoppedCycle(context: CampaignContext, message: Of<'item_settled'>): boolean {
  return context.stopping !== undefined && endsCycle(context, message)
}

export function wasCalledOff({ work }: CampaignContext): boolean {
  return work?.called_off !== undefined
}

/** Whether it was escalated when it was paused, and this resume does not answer that. */
export function isAskedStill(context: CampaignContext, message: Of<'resume'>): boolean {
  const { paused, question, cycles_completed, max_cycles } = context
  if (paused?.escalated === undefined || addsTooMany(context, message)) return false
  const lacksCycles = question === undefined && cycles_completed >= max_cycles
  return !(lacksCycles && (message.add_cycles ?? 0) > 0)
}

/** A word for a message that repeats one taken before, or is about something that is over; undefined otherwise. */
export function repeats({ value, context }: SnapshotOf<CampaignContext>, message: CampaignMessage): string | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRepeat(context.internal.creation, message)
    case 'advance':
      if (message.event_id !== undefined && context.internal.requests.includes(message.event_id)) return 'already_heard'
      if (isEmitted(message)) return undefined
      return RUNNING.has(value) && context.work?.role === 'advance' ? 'already_advancing' : undefined
    case 'pause':
      if (isOver(value) && message.with_initiative !== undefined) return `already_${value}`
      return value === 'paused' && context.paused?.by === 'owner' ? 'already_paused' : undefined
    case 'decide':
      return RUNNING.has(value) && isDecidedSo(context, message) ? 'already_decided' : undefined
    case 'complete':
      return value === 'completed' && !isSaidOtherwise(context, message) ? 'already_completed' : undefined
    case 'cancel':
      if (value === 'completed' && message.with_initiative !== undefined) return 'already_completed'
      if (value === 'cancelled' && stopsCycle(context, message)) return undefined
      if (discardsCycle(context, message)) return undefined
      return value === 'cancelled' || value === 'cancelling' ? `already_${value}` : undefined
    case 'provider_back':
      return value === 'paused' && context.paused?.by === 'provider' ? undefined : 'goes_on'
    case 'join_initiative':
    case 'share_finding':
      return isKnown(context, message) ? 'already_known' : undefined
    case 'item_started':
      return endsCycle(context, message) && context.work?.begun !== true ? undefined : 'not_under_way'
    case 'item_reported':
      return reports(context, message) ? undefined : 'not_under_way'
    case 'item_settled':
      if (endsCycle(context, message) || endsAdvance(context, message)) return undefined
      return isOfHistory(context, message) ? undefined : 'not_under_way'
    default:
      return undefined
  }
}

/** Whether its newest decision is this one, by the same person, who may have lost the answer and asks again. */
function isDecidedSo({ owner_decisions }: CampaignContext, { decision, from_trunk, by }: Of<'decide'>): boolean {
  const last = owner_decisions.at(-1)
  return from_trunk !== true && last?.decision === decision && last.authorized_by === nameOf(by)
}

/** Whether an owner last completed it with another reason. A completion by its evidence is not an owner's decision. */
function isSaidOtherwise({ owner_decisions }: CampaignContext, { reason }: Of<'complete'>): boolean {
  const last = owner_decisions.at(-1)?.decision
  return last?.startsWith(completion('')) === true && last !== completion(reason)
}

/** Why a message was refused, if there is more to say than that the status does not allow it. */
export function refusal(
  { value, context }: SnapshotOf<CampaignContext>,
  message: CampaignMessage,
): Refusal | undefined {
  if (message.type === 'create') {
    if (value !== 'absent') {
      return creationRefusal(context.internal.creation, message, { what: 'campaign', isIdFromKey: false })
    }
    const errors = definitionFaults(message)
    const detail = 'The fields named in `errors` are invalid; nothing was accepted.'
    return errors.length === 0 ? undefined : { code: 'invalid_body', detail, errors }
  }
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'advance':
      return illegalWhere(whyNotAdvanced({ value, context }, message))
    case 'resume':
      if (value !== 'paused' && value !== 'escalated')
        return illegal(`only a paused or escalated campaign can be resumed: it is ${value}`)
      if (addsTooMany(context, message)) return tooManyCycles(context)
      return {
        ...illegal(`its budget of ${context.max_cycles} cycles is used up: resume it with add_cycles`),
        isOfContent: true,
      }
    case 'decide':
      if (context.paused?.escalated !== undefined) return illegal('it is paused: resume it first, then decide')
      return illegal(`only an escalated campaign waits for a decision: it is ${value}`)
    case 'complete':
      return value === 'completed' ? decidedOtherwise(value, context.reason) : illegal(`it is ${value}`)
    default:
      return isOver(value) ? illegal(`it is ${value}`) : undefined
  }
}

/**
 * Why a request to advance is refused. Undefined if it is taken or was taken before, or if it was emitted and a stopped
 * campaign answers it itself. `ahead`: number of requests that will come before it.
 */
export function whyNotAdvanced(
  { value, context }: Pick<SnapshotOf<CampaignContext>, 'value' | 'context'>,
  { event_id }: Pick<Of<'advance'>, 'event_id'>,
  ahead = 0,
): string | undefined {
  const { work, internal } = context
  if (event_id !== undefined) {
    if (internal.requests.includes(event_id)) return undefined
    const waiting = joinedCount(context) + ahead
    if (waiting >= JOINED_MAX) return `${waiting} requests are already waiting for its next step`
    if (!RUNNING.has(value) && value !== 'cancelling') return undefined
  }
  if (!RUNNING.has(value)) return `it is ${value}: ${isOver(value) ? 'nothing follows' : 'resume it'}`
  if (work?.role !== 'cycle') return undefined
  return `cycle ${work.cycle} is under way as ${work.item_id}: its result will advance the campaign`
}

function illegalWhere(detail: string | undefined): Refusal | undefined {
  return detail === undefined ? undefined : illegal(detail)
}

function illegal(detail: string): Refusal {
  return { code: 'illegal_move', detail }
}
