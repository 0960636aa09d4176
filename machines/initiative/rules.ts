/** Which messages an initiative takes, and what is a repeat or refused: one assessment at a time, each action once. */
import { canonical } from '../canonical.ts'
import { shown } from '../clipped.ts'
import { decidedOtherwise, givesOtherReason } from '../decision-repeats.ts'
import { type OwnerDecision, TRIGGERS_MAX } from '../documents/initiative.ts'
import { isSameMember, memberText } from '../documents/member.ts'
import { nameOf, type Refusal, type SnapshotOf } from '../machine.ts'
import { creationRefusal, creationRepeat, reusedKey } from '../repeated-create.ts'
import { hasLanded } from '../work-item/owner.ts'
import { bodyBefore } from './bodies.ts'
import type { InitiativeContext, InitiativeMessage, Of } from './context.ts'
import { consumed, reviewersFinding } from './findings.ts'
import { isMember } from './members.ts'
import { isAnswered, skipReason } from './moves.ts'

type Snapshot = SnapshotOf<InitiativeContext>

/** Whether the request names a member or none, is new, and there is room for it to wait. */
export function mayAsk(context: InitiativeContext, { member, trigger_id }: Of<'advance'>): boolean {
  const isAboutIt = member === undefined || isMember(context, member)
  return isAboutIt && !isKnownRequest(context, trigger_id) && crowdOf(context, 0) === undefined
}

/**
 * Why a request for an assessment is refused, whatever member it names. Undefined if it is taken or was taken before.
 * `ahead`: number of requests that will come before it.
 */
export function whyNotAssessed(
  { value, context }: Pick<Snapshot, 'value' | 'context'>,
  { trigger_id }: Pick<Of<'advance'>, 'trigger_id'>,
  ahead = 0,
): string | undefined {
  if (isKnownRequest(context, trigger_id)) return undefined
  const status = statusOf(value)
  return status === 'active' ? crowdOf(context, ahead) : `it is ${status}: steering has ended`
}

function crowdOf({ waiting }: InitiativeContext, ahead: number): string | undefined {
  const count = waiting.length + ahead
  return count >= TRIGGERS_MAX ? `${count} requests are already waiting` : undefined
}

export function isNextRequest({ waiting }: InitiativeContext, { trigger_id }: Of<'assess'>): boolean {
  return waiting[0]?.trigger_id === trigger_id
}

export function hasNothingToDo(context: InitiativeContext, message: Of<'assess'>): boolean {
  return isNextRequest(context, message) && skipReason(context, context.waiting[0]!, message.view) !== undefined
}

export function isOfAssessment({ assessment }: InitiativeContext, { item_id }: { readonly item_id: string }): boolean {
  return assessment?.item_id === item_id
}

export function isOfCycle({ internal }: InitiativeContext, { item_id }: { readonly item_id: string }): boolean {
  return internal.cycles[item_id] !== undefined
}

/** Whether everyone named is a member, the name (key) is new, and a decision answers an open question. */
export function isSound(
  context: InitiativeContext,
  message: Of<'decide' | 'record_owner_action' | 'record_finding'>,
): boolean {
  if (strangerIn(context, message) !== undefined || bodyBefore(context, message) !== undefined) return false
  return message.type !== 'decide' || isOpen(context, message)
}

/** Whether the decision names no question, or one that is open. */
function isOpen({ questions }: InitiativeContext, { question_id }: Of<'decide'>): boolean {
  return question_id === undefined || questions.some(({ id }) => id === question_id)
}

/** The decision that answered the named question before, if one did. */
function answerBefore(
  { owner_decisions }: InitiativeContext,
  { question_id }: Of<'decide'>,
): OwnerDecision | undefined {
  return question_id === undefined
    ? undefined
    : owner_decisions.find(({ answers = [] }) => answers.includes(question_id))
}

/** Whether the named question was answered with the same decision, as far as this message is specific. */
function isAnsweredSo(context: InitiativeContext, message: Of<'decide'>): boolean {
  const before = answerBefore(context, message)
  if (before === undefined || before.decision !== message.decision || givesOtherReason(before.reason, message))
    return false
  const { applicable_members: whom } = message
  return whom === undefined || canonical(whom) === canonical(before.applicable_members ?? [])
}

/**
 * Whether a decision without a question and without a key merely repeats the newest one: by the same person, and
 * answering nothing new. That is an owner who lost the answer, and a second entry would add nothing.
 */
function isSaidAgain(
  { owner_decisions, questions, close_proposals }: InitiativeContext,
  message: Of<'decide'>,
): boolean {
  const before = owner_decisions.at(-1)
  const { decision, reason, applicable_members: whom, question_id, decision_id, by } = message
  if (before === undefined || question_id !== undefined || decision_id !== undefined) return false
  if (questions.some((one) => isAnswered(one, message)) || (whom === undefined && close_proposals.length > 0))
    return false
  // The earlier decision answered a question and may have been about that one alone.
  if (whom === undefined && before.answers !== undefined) return false
  const isAsBefore = before.decision === decision && before.reason === reason && before.by?.name === by?.name
  return isAsBefore && canonical(before.applicable_members ?? []) === canonical(whom ?? [])
}

function questionClosed(context: InitiativeContext, message: Of<'decide'>): Refusal {
  const before = answerBefore(context, message)
  if (before === undefined) return illegalSo(`no question ${shown(message.question_id!)} is open`)
  return illegalSo(`it was answered by ${nameOf(before.by)} at ${before.at}: ${shown(before.decision)}`)
}

function strangerIn(context: InitiativeContext, message: InitiativeMessage) {
  const named =
    message.type === 'decide'
      ? (message.applicable_members ?? [])
      : message.type === 'record_finding'
        ? message.to
        : 'member' in message && message.member !== undefined
          ? [message.member]
          : []
  return named.find((member) => !isMember(context, member))
}

/** A word for a message that repeats one taken before, or is about something that is over; undefined otherwise. */
export function repeats({ value, context }: Snapshot, message: InitiativeMessage): string | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRepeat(context.internal.creation, message)
    case 'advance':
      if (message.is_made === true || joinsWaiting(context, message)) return 'already_requested'
      return isKnownRequest(context, message.trigger_id) && !asksOtherwise(context, message)
        ? 'already_requested'
        : undefined
    case 'decide':
      if (bodyBefore(context, message) === 'same') return 'replay'
      if (bodyBefore(context, message) === 'other') return undefined
      return isAnsweredSo(context, message) || isSaidAgain(context, message) ? 'already_decided' : undefined
    case 'record_owner_action':
      return bodyBefore(context, message) === 'same' ? 'replay' : undefined
    case 'assess':
      return value === 'active' && isNextRequest(context, message) ? undefined : 'already_assessed'
    case 'judge':
      return value === 'deciding' && isOfAssessment(context, message) ? undefined : 'already_judged'
    case 'item_reported':
      return isOfAssessment(context, message) && context.assessment!.result === undefined ? undefined : 'already_heard'
    case 'item_settled':
      return isOfAssessment(context, message) || isOfCycle(context, message) ? undefined : 'already_heard'
    case 'complete':
      return value === 'completed' && !givesOtherReason(context.reason, message) ? 'already_completed' : undefined
    case 'cancel':
      return value === 'cancelled' ? 'already_cancelled' : undefined
    case 'record_finding':
      return bodyBefore(context, message) === 'same' || isKnownFinding(context, message) ? 'replay' : undefined
    case 'member_cycle_settled':
      return isHeard(value, context, message) ? 'already_heard' : undefined
    default:
      return undefined
  }
}

/** Every request is assessed once: whether it waits, is being assessed, or is over, it is known. */
function isKnownRequest({ waiting, assessment, internal }: InitiativeContext, trigger_id: string): boolean {
  return (
    assessment?.trigger_id === trigger_id ||
    waiting.some((one) => one.trigger_id === trigger_id) ||
    internal.over.includes(trigger_id)
  )
}

/** Unnamed requests for the same member are one until assessed: the assessment sees whatever prompted either. */
function joinsWaiting({ waiting }: InitiativeContext, { unnamed, member }: Of<'advance'>): boolean {
  return unnamed === true && waiting.some((one) => one.unnamed === true && isSameMember(one.member, member))
}

/** Whether the same trigger was used for another member before. */
export function asksOtherwise(context: InitiativeContext, message: Of<'advance'>): boolean {
  return message.fingerprint !== undefined && bodyBefore(context, message) === 'other'
}

/** Whether the steward has already recorded this finding: its id derives from the reviewer's result. */
function isKnownFinding({ findings }: InitiativeContext, { finding_id, fingerprint }: Of<'record_finding'>): boolean {
  return fingerprint === undefined && findings.some((one) => one.finding_id === finding_id)
}

/** Whether the message reports nothing that is not recorded already. */
function isHeard(value: string, context: InitiativeContext, message: Of<'member_cycle_settled'>): boolean {
  const { item_id, member, finding_ids, terminal } = message
  const mayFind = statusOf(value) === 'active' && terminal !== undefined
  const said = mayFind ? reviewersFinding(context, item_id, terminal) : undefined
  if (said !== undefined && !context.findings.some(({ finding_id }) => finding_id === said.finding_id)) return false
  return !hasLanded(message) || consumed(context, item_id, { member, finding_ids }, '').now.length === 0
}

/** Why a message was refused, if there is more to say than that the state does not allow it. */
export function refusal({ value, context }: Snapshot, message: InitiativeMessage): Refusal | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRefusal(context.internal.creation, message, { what: 'initiative', isIdFromKey: false })
    case 'complete':
      return value === 'completed' ? decidedOtherwise(value, context.reason) : illegal(`it is ${statusOf(value)}`)
    case 'advance':
    case 'decide':
    case 'record_owner_action':
    case 'record_finding':
      if (bodyBefore(context, message) === 'other') return reusedKey(WHAT[message.type])
  }
  const stranger = strangerIn(context, message)
  if (stranger !== undefined) return illegalSo(`it has no member ${memberText(stranger)}`)
  if (message.type === 'decide' && statusOf(value) === 'active') return questionClosed(context, message)
  if (message.type !== 'advance') return illegal(`it is ${statusOf(value)}`)
  const why = whyNotAssessed({ value, context }, message)
  return why === undefined ? undefined : illegal(why)
}

export function statusOf(value: string): 'active' | 'completed' | 'cancelled' {
  return value === 'completed' || value === 'cancelled' ? value : 'active'
}

/** What an idempotency key was used for, in words. */
const WHAT = {
  advance: 'assessment',
  decide: 'decision',
  record_owner_action: 'owner action',
  record_finding: 'finding',
} as const

function illegal(detail: string): Refusal {
  return { code: 'illegal_move', detail }
}

/** With another question, or another member, the message would be taken. */
function illegalSo(detail: string): Refusal {
  return { ...illegal(detail), isOfContent: true }
}
