/** What an initiative states (SPEC 6.18): its lifecycle, its steering, its owner's actions, its findings. */

import type { Finding } from '../documents/finding.ts'
import type { Action, FollowUp, InitiativeStatus, OwnerAction, SteeringDecision } from '../documents/initiative.ts'
import type { Member } from '../documents/member.ts'
import { SYSTEM_PROJECT } from '../envelope.ts'
import { prepareEvent } from '../events/envelope.ts'
import type { Fact, FactEnvelope, OwnFact, RecordedFact } from '../machine.ts'
import { recordedFact } from '../recorded-fact.ts'
import { type ItemIds, ownedIds } from '../work-item/owner.ts'
import type { Assessment, InitiativeContext, Trigger } from './context.ts'

type LifecycleType = 'initiative_added' | 'initiative_decided' | 'initiative_completed' | 'initiative_cancelled'

interface OwnersWord {
  readonly reason?: string | undefined
  readonly decision?: string
  readonly applicable_members?: readonly Member[] | undefined
}

/** Carries the whole definition, so that a reader can display the initiative from any one of these events. */
export function lifecycleFact(
  type: LifecycleType,
  context: InitiativeContext,
  status: InitiativeStatus,
  { reason, decision, applicable_members }: OwnersWord = {},
): OwnFact {
  const { name, outcome, projects, intent_refs, members, authorized_by, budget } = context
  return {
    type,
    payload: {
      ...(applicable_members === undefined ? {} : { applicable_members }),
      authorized_by,
      budget,
      ...(decision === undefined ? {} : { decision }),
      initiative: name,
      intent_refs,
      members,
      outcome,
      projects,
      ...(reason === undefined ? {} : { reason }),
      status,
    },
  }
}

/** The envelope of steering facts: the pinned member's project, the request's trace. */
export function steeringEnvelope({ name, internal }: InitiativeContext, trigger: Trigger): FactEnvelope {
  const { member, seed, event_id } = trigger
  const { trace_id, span_id } = assessmentIds(name, seed)
  return {
    project: projectOf(internal.homes, member),
    throttle: 'full',
    trace_id,
    span_id,
    parent_span_id: null,
    causation_id: event_id,
    gather_id: null,
  }
}

/** A steering fact with its own envelope, for steps that state facts of several requests. */
export function statedFor(context: InitiativeContext, trigger: Trigger, fact: Fact, at: string): RecordedFact {
  return 'recorded' in fact ? fact : recordedFact(fact.type, fact.payload, steeringEnvelope(context, trigger), at)
}

/** Ids of the work item that a request becomes, on the trace that the request opens. */
export function assessmentIds(name: string, seed: string): ItemIds {
  return ownedIds({ kind: 'initiative', ref: name, role: 'assessment' }, seed)
}

function projectOf(homes: Readonly<Record<string, string>>, member: Member | undefined): string {
  return (member && homes[`${member.kind}:${member.ref}`]) ?? SYSTEM_PROJECT
}

interface Asked {
  readonly trigger_id: string
  readonly member?: Member | undefined
  readonly follow_up_of?: FollowUp | undefined
  readonly seed: string
  readonly at: string
  readonly origin: string
  /** The event that caused the request. */
  readonly causation_id: string | null
}

/**
 * The fact of a request. Identified here, not by the runtime, because its work item and everything after name it as
 * their cause.
 */
export function requestedFact({ name, internal }: Pick<InitiativeContext, 'name' | 'internal'>, asked: Asked) {
  const { trigger_id, member, follow_up_of, seed, at, origin, causation_id } = asked
  const { trace_id, span_id } = assessmentIds(name, seed)
  const recorded = prepareEvent({
    event_type: 'initiative_advance_requested',
    project: projectOf(internal.homes, member),
    occurred_at: at,
    throttle: 'full',
    payload: {
      ...(follow_up_of === undefined ? {} : { follow_up_of }),
      initiative: name,
      ...(member === undefined ? {} : { member }),
      operator_origin: origin,
      trigger_id,
    },
    trace_id,
    span_id,
    parent_span_id: null,
    causation_id,
    gather_id: null,
  })
  return { type: recorded.event_type, recorded } satisfies RecordedFact
}

interface Steered {
  readonly outcome: string
  readonly decision?: SteeringDecision | undefined
  readonly provider?: string | undefined
  readonly prompt: string
  readonly reason?: string
  readonly error?: string
  readonly action?: object | undefined
}

export function steeredFact(
  { name }: InitiativeContext,
  { steer_id, eligible, follow_up_of }: Pick<Assessment, 'steer_id' | 'eligible' | 'follow_up_of'>,
  { outcome, decision, provider, prompt, reason, error, action }: Steered,
): OwnFact {
  return {
    type: 'initiative_steered',
    payload: {
      ...(action === undefined ? {} : { action }),
      ...(decision === undefined ? {} : { decision }),
      ...(eligible.length === 0 ? {} : { eligible_members: eligible }),
      ...(error === undefined ? {} : { error }),
      ...(follow_up_of === undefined ? {} : { follow_up_of }),
      initiative: name,
      outcome,
      prompt,
      ...(provider === undefined ? {} : { provider }),
      ...(reason === undefined ? {} : { reason }),
      steer_id,
      success: outcome !== 'failed',
    },
  }
}

/** The recorded action as it appears in events. */
export function actionPayload(initiative: string, { at: _, ...action }: Action): object {
  return { initiative, ...action }
}

/** The event omits the details of what was done; the initiative's document has them under the action's id. */
export function ownerActionFact(initiative: string, { action_id, action, operator_origin }: OwnerAction): OwnFact {
  return { type: 'initiative_owner_action_recorded', payload: { action, action_id, initiative, operator_origin } }
}

export function findingRecorded(finding: Finding): OwnFact {
  return { type: 'finding_recorded', payload: finding }
}

export function findingConsumed(finding: Finding, member: Member, work_item_id: string): OwnFact {
  const { initiative, finding_id } = finding
  return { type: 'finding_consumed', payload: { finding, finding_id, initiative, member, work_item_id } }
}
