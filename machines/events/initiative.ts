/**
 * Initiatives (SPEC 6.18): lifecycle, steering and owner actions. Invariant: the outcome of an assessment alone
 * determines which of error, reason, decision and action are present, and only an applied one asks for work.
 */
import { INITIATIVE_STATUSES, OWNER_ACTIONS, STEERING_DECISIONS, STEERING_OUTCOMES } from '../documents/initiative.ts'
import { MEMBER_KINDS } from '../documents/member.ts'
import { anyObject, count, exactlyWith, onlyWith, openObject, requiredWith, rule, stringEnum, Type } from '../schema.ts'
import { engineEvent, serviceEvent } from './event-type.ts'

const initiative = Type.String({ description: 'initiative name' })
const texts = Type.Array(Type.String())

/** A campaign, a work item or a project that takes part. */
export const member = openObject({ kind: stringEnum(MEMBER_KINDS), ref: Type.String() })

const SUCCEEDED = ['applied', 'waited', 'no_op', 'skipped', 'rejected', 'stale'] as const
/** Outcomes with an agent's decision. A failed assessment may or may not have one. */
const DECIDED = ['applied', 'waited', 'no_op', 'rejected', 'stale'] as const

const lifecycle = openObject({
  initiative,
  outcome: Type.String({ description: 'the shared outcome to be reached' }),
  projects: texts,
  intent_refs: texts,
  members: Type.Array(member),
  status: stringEnum(INITIATIVE_STATUSES),
  authorized_by: Type.String(),
  budget: openObject({ max_assessments: Type.Optional(count()), max_actions: Type.Optional(count()) }),
  reason: Type.Optional(Type.String()),
  decision: Type.Optional(Type.String()),
  // SPEC 6.18 has no field for the question that a decision answered.
  applicable_members: Type.Optional(
    Type.Array(member, {
      description:
        'the members it concerns; absent: all, or only a question, which the initiative’s document names (`owner_decisions[].answers`)',
    }),
  ),
})

const followUpOf = Type.Optional(openObject({ steer_id: Type.String(), step: stringEnum(STEERING_DECISIONS) }))

const steered = openObject(
  {
    success: Type.Boolean({ description: 'true for every outcome except failed' }),
    outcome: stringEnum(STEERING_OUTCOMES),
    error: Type.Optional(Type.String({ description: "the guard's message, or the failure" })),
    initiative,
    steer_id: Type.String(),
    prompt: Type.Optional(Type.String({ description: 'empty when no agent ran' })),
    decision: Type.Optional(stringEnum(STEERING_DECISIONS)),
    provider: Type.Optional(Type.String()),
    action: Type.Optional(anyObject('the durable action that was requested')),
    reason: Type.Optional(Type.String({ description: 'why nothing changed' })),
    eligible_members: Type.Optional(Type.Array(member)),
    follow_up_of: followUpOf,
  },
  {
    rules: [
      rule('outcome', SUCCEEDED, { success: { const: true, description: 'only failed is no success' } }),
      rule('outcome', ['failed'], { success: { const: false, description: 'failed is no success' } }),
      exactlyWith('outcome', ['rejected', 'stale', 'failed'], 'error'),
      exactlyWith('outcome', ['waited', 'no_op', 'skipped'], 'reason'),
      requiredWith('outcome', [...DECIDED, 'skipped'], 'prompt'),
      requiredWith('outcome', DECIDED, 'decision'),
      onlyWith('outcome', [...DECIDED, 'failed'], 'decision'),
      onlyWith('outcome', ['applied'], 'action'),
      rule('outcome', ['skipped'], { prompt: { const: '', description: 'no agent ran' } }),
    ],
  },
)

export const initiativeEvents = {
  initiative_advance_requested: engineEvent(
    '6.18',
    'request one read-only steering assessment',
    openObject({
      initiative,
      member: Type.Optional(member),
      operator_origin: Type.String(),
      trigger_id: Type.String(),
      follow_up_of: followUpOf,
    }),
    { opensSpan: true },
  ),
  initiative_steered: serviceEvent('6.18', 'retains the assessment prompt, provider and one typed decision', steered),
  initiative_action_requested: serviceEvent(
    '6.18',
    'apply the durable admitted steering action',
    openObject({
      action_id: Type.String({ description: 'identity: a replay acknowledges instead of dispatching' }),
      initiative,
      decision: stringEnum(STEERING_DECISIONS),
      question: Type.Optional(Type.String({ description: 'for an ask: the question an owner must answer' })),
      options: Type.Optional(Type.Array(Type.String(), { description: 'suggested answers' })),
      provider: Type.Optional(Type.String()),
      context_fingerprint: Type.Optional(Type.String()),
    }),
  ),
  initiative_owner_action_recorded: serviceEvent(
    '6.18',
    'records a direct owner hold, milestone or member override',
    openObject({
      initiative,
      action_id: Type.String(),
      operator_origin: Type.String(),
      action: stringEnum(OWNER_ACTIONS),
    }),
  ),
  initiative_added: serviceEvent('6.18', 'an initiative and its member references entered the store', lifecycle),
  initiative_decided: serviceEvent('6.18', 'an owner decision was recorded for applicable members', lifecycle),
  initiative_completed: serviceEvent('6.18', 'the owner affirmed the shared outcome', lifecycle),
  initiative_cancelled: serviceEvent('6.18', 'the owner stopped the initiative and its members', lifecycle),
}
