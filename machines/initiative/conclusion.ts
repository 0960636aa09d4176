/**
 * The end of an assessment: its outcome as facts, as the settlement of its work item (SPEC 3.4), as changes, and as
 * follow-up requests. All in one step, so that an action is on disk before anything is dispatched.
 */
import { promptIn, providerIn } from '../agent-answer.ts'
import {
  ASSESSMENTS_SHOWN_MAX,
  type Decision,
  type FollowUp,
  type SteeringDecision,
  type SteeringOutcome,
  TRIGGERS_REMEMBERED_MAX,
} from '../documents/initiative.ts'
import { isSameMember, type Member } from '../documents/member.ts'
import type { By, Fact, SendParams } from '../machine.ts'
import { recordedFact } from '../recorded-fact.ts'
import { settleItem } from '../work-item/owner.ts'
import type { Assessment, InitiativeContext, Trigger, View } from './context.ts'
import { effectsOf } from './effects.ts'
import { actionPayload, requestedFact, steeredFact, steeringEnvelope } from './facts.ts'
import { eligibleMembers } from './members.ts'
import type { Verdict } from './verdict.ts'

/** What a step changes, states and sends. */
export interface Conclusion {
  readonly context: InitiativeContext
  readonly facts: readonly Fact[]
  readonly sends: readonly SendParams[]
}

/** Decisions after which there may be more to decide at once (SPEC 6.18, rule 4). */
const FOLLOWED: readonly SteeringDecision[] = ['hold', 'relay', 'ask', 'escalate', 'stage']

interface Ending {
  readonly outcome: SteeringOutcome
  readonly detail: string
  readonly decision?: Decision | undefined
  /** An agent began, so the assessment counts against the budget. */
  readonly begun: boolean
  readonly at: string
}

/** Ends the assessment, and requests another if one must follow. `view` is absent if the initiative had ended. */
export function conclude(context: InitiativeContext, verdict: Verdict, view: View | undefined, at: string): Conclusion {
  const assessment = context.assessment!
  const ended = end(context, assessment, { ...verdict, begun: true, at })
  const { decision } = verdict
  const { steer_id, member, follow_up_of, by } = assessment
  if (verdict.outcome === 'stale')
    return again(ended, { trigger_id: `fresh:${steer_id}`, member, follow_up_of, by }, at)
  if (verdict.outcome !== 'applied' || decision === undefined || view === undefined) return ended
  if (follow_up_of !== undefined || !FOLLOWED.includes(decision.decision)) return ended
  if (membersLeft(ended.context, view, assessment, decision).length === 0) return ended
  const after = { steer_id, step: decision.decision }
  return again(ended, { trigger_id: `follow-up:${steer_id}`, member, follow_up_of: after, by }, at)
}

/**
 * The members that can still advance after the decision; in a pinned assessment, only its member. The view does not
 * show the decision's effects yet, so the member that it acts on is excluded here.
 */
function membersLeft(
  context: InitiativeContext,
  view: View,
  { member: pinned }: Assessment,
  { decision, member }: Decision,
): readonly Member[] {
  const able = eligibleMembers(context, view, pinned)
  return decision === 'relay' ? able : able.filter((one) => !isSameMember(one, member))
}

interface Next {
  readonly trigger_id: string
  readonly member?: Member | undefined
  readonly follow_up_of?: FollowUp | undefined
  readonly by: By
}

/** A request of the service's own, next in line to be assessed. */
function again(ended: Conclusion, { trigger_id, member, follow_up_of, by }: Next, at: string): Conclusion {
  const { internal } = ended.context
  const seed = seedOf(ended.context)
  const asked = { trigger_id, member, follow_up_of, seed, at, origin: by.origin ?? by.name }
  const fact = requestedFact(ended.context, { ...asked, causation_id: internal.envelope.causation_id })
  const trigger: Trigger = {
    trigger_id,
    ...(member === undefined ? {} : { member }),
    ...(follow_up_of === undefined ? {} : { follow_up_of }),
    requested_at: at,
    by,
    seed,
    event_id: fact.recorded.id,
  }
  const context = {
    ...ended.context,
    waiting: [trigger, ...ended.context.waiting],
    internal: { ...internal, requests: internal.requests + 1 },
  }
  return { ...ended, context, facts: [...ended.facts, fact] }
}

/** Differs between successive initiatives of one name, so that they never share a work item. */
export function seedOf({ created_at, internal }: InitiativeContext): string {
  return `${created_at}/${internal.requests + 1}`
}

/** Ends the assessment: states the outcome, settles the work item, and records it. */
export function end(context: InitiativeContext, assessment: Assessment, ending: Ending): Conclusion {
  const { outcome, detail, decision, begun, at } = ending
  const { result = {}, item_id, steer_id, trigger_id, member } = assessment
  const provider = providerIn(result)
  const applied =
    outcome === 'applied' ? effectsOf(context, assessment, { decision: decision!, provider, at }) : undefined
  const envelope = steeringEnvelope(context, assessment)
  const action = applied === undefined ? undefined : actionPayload(context.name, applied.action)
  const steered = steeredFact(context, assessment, {
    outcome,
    decision: decision?.decision,
    provider,
    prompt: outcome === 'skipped' ? '' : promptIn(result, assessment.prompt),
    ...wordsOf(outcome, detail),
    action,
  })
  const facts: Fact[] = [steered]
  const sends: SendParams[] = []
  if (applied !== undefined) {
    const requested = recordedFact('initiative_action_requested', action!, envelope, at)
    facts.push(requested, ...applied.facts)
    sends.push(...applied.sends(requested.recorded.id))
  }
  const settlement = settlementOf(outcome, detail, decision)
  if (settlement !== undefined) sends.push(settleItem(item_id, settlement.state, settlement.reason))
  if (outcome === 'failed' && context.ended_at !== undefined) sends.push(discharge(item_id, 'its initiative has ended'))
  const { assessment: _over, ...rest } = { ...context, ...applied?.change }
  const internal = rest.internal
  const told = {
    steer_id,
    item_id,
    trigger_id,
    ...(member === undefined ? {} : { member }),
    outcome,
    ...(decision === undefined ? {} : { decision: decision.decision }),
    detail,
    ...(provider === undefined ? {} : { provider }),
    at,
  }
  return {
    context: {
      ...rest,
      assessment: undefined,
      assessments_made: context.assessments_made + (begun ? 1 : 0),
      actions_applied: context.actions_applied + (applied === undefined ? 0 : 1),
      actions: applied === undefined ? context.actions : [...context.actions, applied.action],
      assessments: [...context.assessments, told].slice(-ASSESSMENTS_SHOWN_MAX),
      internal: { ...internal, over: [...internal.over, trigger_id].slice(-TRIGGERS_REMEMBERED_MAX), envelope },
    },
    facts,
    sends,
  }
}

/**
 * Closes the item of an assessment that failed, unless a person has: of an initiative that is over nobody can ask for
 * another.
 */
export function discharge(item_id: string, reason: string, by?: By): SendParams {
  const close = { type: 'close', discharges: true, reason, ...(by && { by }) } as const
  return { to: { kind: 'work_item', id: item_id }, message: close }
}

/** SPEC 6.18, rule 7: an error or a reason, never both; an applied outcome has neither. */
function wordsOf(outcome: SteeringOutcome, detail: string): { reason?: string; error?: string } {
  if (outcome === 'applied') return {}
  return outcome === 'rejected' || outcome === 'stale' || outcome === 'failed' ? { error: detail } : { reason: detail }
}

/** How the work item settles, by outcome (SPEC 3.4). */
function settlementOf(outcome: SteeringOutcome, detail: string, decision: Decision | undefined) {
  switch (outcome) {
    case 'applied':
      return { state: 'landed', reason: `steering applied: ${decision!.decision}: ${detail}` } as const
    case 'waited':
      return { state: 'landed', reason: `steering waited: ${detail}` } as const
    case 'no_op':
      return { state: 'landed', reason: `steering decision already in force: ${detail}` } as const
    case 'skipped':
      return { state: 'landed', reason: `steering skipped: ${detail}` } as const
    case 'rejected':
      return { state: 'cancelled', reason: `steering rejected: ${detail}` } as const
    case 'stale':
      return { state: 'landed', reason: `steering stale: ${detail}` } as const
    default:
      return { state: 'failed', reason: `steering failed: ${detail}` } as const
  }
}
