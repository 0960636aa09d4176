/**
 * The initiative's documents (SPEC 3.4, 6.18): what an owner adds and decides, what an assessment decides, and what
 * readers see. Request bodies are closed; an engine's decision is open.
 */

import { BUDGET_MAX } from '../bounds.ts'
import { closedObject, exactlyWith, onlyWith, requiredWith, type Static, stringEnum, Type } from '../schema.ts'
import {
  by,
  CLOSED,
  LIST_MAX,
  LONG_TEXT_LENGTH_MAX,
  name,
  PROJECT_KEY_PATTERN,
  prompted,
  reference,
  SLUG_PATTERN,
  serviceId,
  TEXT_LENGTH_MAX,
  time,
} from './fields.ts'
import { finding } from './finding.ts'
import { MEMBERS_MAX, memberSchema, shownMember } from './member.ts'

export const INITIATIVE_STATUSES = ['active', 'completed', 'cancelled'] as const
export type InitiativeStatus = (typeof INITIATIVE_STATUSES)[number]

export const STEERING_DECISIONS = [
  'advance',
  'dispatch',
  'hold',
  'relay',
  'ask',
  'escalate',
  'stage',
  'done',
  'wait',
] as const
export type SteeringDecision = (typeof STEERING_DECISIONS)[number]

export const STEERING_OUTCOMES = ['applied', 'waited', 'no_op', 'skipped', 'rejected', 'stale', 'failed'] as const
export type SteeringOutcome = (typeof STEERING_OUTCOMES)[number]

export const OWNER_ACTIONS = ['hold', 'milestone', 'member_override'] as const
const OVERRIDES = ['include', 'exclude'] as const

/** Most projects of an initiative: its readers must be allowed each of them. */
export const PROJECTS_MAX = 64
export const DEFAULT_BUDGET = { max_assessments: 40, max_actions: 20 } as const
/** How many requests may wait behind the assessment under way. */
export const TRIGGERS_MAX = 32
/** How many trigger ids of past requests are remembered, so that none is assessed twice. */
export const TRIGGERS_REMEMBERED_MAX = 256
/** How many assessments are shown, newest last. */
export const ASSESSMENTS_SHOWN_MAX = 64
/** Owner decisions and actions kept, the newest, which bind assessments; one still in force is never dropped. */
export const OWNER_WORDS_MAX = 128
/** How many questions may be open at a time. */
export const QUESTIONS_MAX = 64
/** How many answers a question may offer. */
const OPTIONS_MAX = 16

const spoken = (description: string, maxLength: number = TEXT_LENGTH_MAX) =>
  Type.String({ minLength: 1, maxLength, pattern: '\\S', description })

const member = memberSchema('A campaign, a work item or a project that takes part.')

const triggerId = name('Identifies the request: the same trigger is assessed once.')

const budget = Type.Object(
  {
    max_assessments: Type.Optional(
      Type.Integer({ minimum: 1, maximum: BUDGET_MAX, description: 'Maximum number of assessments by agents.' }),
    ),
    max_actions: Type.Optional(
      Type.Integer({ minimum: 0, maximum: BUDGET_MAX, description: 'Maximum number of applied actions.' }),
    ),
  },
  { ...CLOSED, description: 'Limits on steering.' },
)

export const initiativeCreateBody = Type.Object(
  {
    name: Type.String({ pattern: SLUG_PATTERN, description: 'Its name; unique, never changes.' }),
    outcome: prompted('The shared outcome to be reached.', LONG_TEXT_LENGTH_MAX),
    projects: Type.Optional(
      Type.Array(Type.String({ pattern: PROJECT_KEY_PATTERN }), {
        maxItems: PROJECTS_MAX,
        uniqueItems: true,
        description: 'Keys of its projects, besides those of its members. Assessments run in the first one.',
      }),
    ),
    intent_refs: Type.Optional(
      Type.Array(reference('An opaque reference.'), { maxItems: LIST_MAX, description: 'The intent behind it.' }),
    ),
    members: Type.Array(member, {
      minItems: 1,
      maxItems: MEMBERS_MAX,
      uniqueItems: true,
      description: 'The members that are steered.',
    }),
    authorized_by: Type.Optional(
      spoken(
        'Who is responsible for what it starts. Default: the token’s name; any other name needs `approve.full`.',
        128,
      ),
    ),
    budget: Type.Optional(budget),
  },
  { ...CLOSED, title: 'InitiativeCreate' },
)
export type InitiativeCreate = Static<typeof initiativeCreateBody>

export const advanceBody = Type.Object(
  {
    member: Type.Optional(member),
    trigger_id: Type.Optional(triggerId),
  },
  { ...CLOSED, title: 'InitiativeAdvance' },
)

export const decideBody = Type.Object(
  {
    decision: prompted('The owner’s decision; given to every later assessment.'),
    reason: Type.Optional(spoken('Why.')),
    applicable_members: Type.Optional(
      Type.Array(member, {
        minItems: 1,
        maxItems: MEMBERS_MAX,
        description: 'The members it concerns. Default: the member of the named question, or all members.',
      }),
    ),
    question_id: Type.Optional(
      name('The question it answers, which must be open; if it was already answered, the refusal gives that answer.'),
    ),
  },
  { ...CLOSED, title: 'InitiativeDecide' },
)

const reasonBody = (title: string, description: string) =>
  Type.Object({ reason: spoken(description) }, { ...CLOSED, title })
export const completeBody = reasonBody('InitiativeComplete', 'What shows that the outcome is reached.')
export const cancelBody = reasonBody('InitiativeCancel', 'Why it is cancelled.')

export const ownerActionBody = closedObject(
  {
    action: stringEnum(OWNER_ACTIONS, {
      description:
        '`hold`: nothing is decided about the member (or about any, if none is named) until it is lifted; `milestone`: ' +
        'something was reached; `member_override`: the member takes part despite holds, or is excluded.',
    }),
    member: Type.Optional(member),
    reason: spoken('The reason, or what was reached.'),
    lifted: Type.Optional(Type.Boolean({ description: 'Only with `hold`: true ends the hold.' })),
    override: Type.Optional(
      stringEnum(OVERRIDES, {
        description:
          'Only with `member_override`. `exclude`: the member never advances. `include`: ends the exclusion and its own hold, ' +
          'and exempts it from a hold of all; it still does not advance while it waits for an answer, is under way or has ended.',
      }),
    ),
  },
  {
    title: 'InitiativeOwnerAction',
    rules: [
      requiredWith('action', ['member_override'], 'member'),
      exactlyWith('action', ['member_override'], 'override'),
      onlyWith('action', ['hold'], 'lifted'),
    ],
  },
)
export type OwnerActionBody = Static<typeof ownerActionBody>

/** The decision in the Run Result of an assessment. Open: an engine may add members. */
export const decisionSchema = Type.Object(
  {
    decision: stringEnum(STEERING_DECISIONS, { description: 'Exactly one decision.' }),
    reason: spoken('Why.'),
    member: Type.Optional(memberSchema('The member it concerns.', { additionalProperties: true })),
    objective: Type.Optional(spoken('For `dispatch` and `stage`: what is to be done.', LONG_TEXT_LENGTH_MAX)),
    question: Type.Optional(spoken('For `ask`: the question an owner must answer.')),
    options: Type.Optional(
      Type.Array(spoken('A possible answer.'), { maxItems: OPTIONS_MAX, description: 'Of `ask`.' }),
    ),
    text: Type.Optional(spoken('For `relay`: the text that is passed on.')),
    to: Type.Optional(
      Type.Array(memberSchema('A recipient.', { additionalProperties: true }), {
        maxItems: MEMBERS_MAX,
        description: 'For `relay`: its recipients. Default: all members.',
      }),
    ),
    refs: Type.Optional(Type.Array(reference('A reference.'), { maxItems: LIST_MAX, description: 'Of `relay`.' })),
  },
  { additionalProperties: true, title: 'SteeringDecision' },
)
export type Decision = Static<typeof decisionSchema>

const initiativeName = Type.String({ description: 'Its name.' })
const shownBudget = Type.Object(
  {
    max_assessments: Type.Integer({ description: 'At most.' }),
    max_actions: Type.Integer({ description: 'At most.' }),
  },
  { description: 'Limits on steering.' },
)
export type Budget = Static<typeof shownBudget>

const followUp = Type.Object(
  {
    steer_id: Type.String({ description: 'The assessment that it follows.' }),
    step: stringEnum(STEERING_DECISIONS, { description: 'The decision of that assessment.' }),
  },
  { title: 'FollowUp', description: 'Only for a follow-up.' },
)
export type FollowUp = Static<typeof followUp>

const trigger = {
  trigger_id: Type.String({ description: 'What requested it.' }),
  member: Type.Optional(shownMember),
  follow_up_of: Type.Optional(followUp),
  requested_at: time('When.'),
}
const waitingTrigger = Type.Object(trigger)
const current = Type.Object(
  {
    ...trigger,
    item_id: serviceId('wi', 'The work item of the assessment.'),
    phase: stringEnum(['assessing', 'deciding'], {
      description: 'Its stage: an agent assesses, or the guards check its decision.',
    }),
  },
  { description: 'The assessment under way.' },
)

const assessed = Type.Object({
  steer_id: Type.String({ description: 'The assessment’s id.' }),
  item_id: Type.String({ description: 'The work item of the assessment.' }),
  trigger_id: Type.String({ description: 'What requested it.' }),
  member: Type.Optional(shownMember),
  outcome: stringEnum(STEERING_OUTCOMES, { description: 'Its outcome.' }),
  decision: Type.Optional(stringEnum(STEERING_DECISIONS, { description: 'What it decided.' })),
  detail: Type.Optional(Type.String({ description: 'The reason or the error.' })),
  provider: Type.Optional(Type.String({ description: 'The agent provider that decided.' })),
  at: time('When.'),
})
export type Assessed = Static<typeof assessed>

const action = Type.Object({
  action_id: Type.String({ description: 'Its id: the same action is applied once.' }),
  steer_id: Type.String({ description: 'The assessment that decided it.' }),
  decision: stringEnum(STEERING_DECISIONS, { description: 'The kind of action.' }),
  reason: Type.String({ description: 'Why.' }),
  member: Type.Optional(shownMember),
  objective: Type.Optional(Type.String({ description: 'What is to be done.' })),
  question: Type.Optional(Type.String({ description: 'For `ask`: the question an owner must answer.' })),
  options: Type.Optional(Type.Array(Type.String(), { description: 'Suggested answers.' })),
  provider: Type.Optional(Type.String({ description: 'The agent provider that decided.' })),
  context_fingerprint: Type.String({ description: 'Hash of the state that was decided on.' }),
  item_id: Type.Optional(Type.String({ description: 'The work item that it created.' })),
  finding_id: Type.Optional(Type.String({ description: 'The finding that it created.' })),
  at: time('When.'),
})
export type Action = Static<typeof action>

const question = Type.Object({
  id: Type.String({ description: 'The action that asked the question.' }),
  kind: stringEnum(['ask', 'escalate'], { description: 'A question, or a call for the owner’s judgment.' }),
  member: Type.Optional(shownMember),
  text: Type.String({ description: 'What.' }),
  options: Type.Optional(Type.Array(Type.String(), { description: 'Suggested answers.' })),
  at: time('When it was asked.'),
})
export type Question = Static<typeof question>

const closeProposal = Type.Object({
  id: Type.String({ description: 'The action that proposed it.' }),
  reason: Type.String({ description: 'Why the outcome is considered reached.' }),
  at: time('When.'),
})
export type CloseProposal = Static<typeof closeProposal>

const ownerDecision = Type.Object({
  decision: Type.String({ description: 'The decision.' }),
  reason: Type.Optional(Type.String({ description: 'Why.' })),
  applicable_members: Type.Optional(
    Type.Array(shownMember, {
      description: 'The members it concerns; absent: all, or only the question it named.',
    }),
  ),
  question_id: Type.Optional(Type.String({ description: 'The question it named; not recorded by older versions.' })),
  answers: Type.Optional(Type.Array(Type.String(), { description: 'Ids of the questions it answered.' })),
  by: Type.Optional(by),
  at: time('When.'),
})
export type OwnerDecision = Static<typeof ownerDecision>

export const shownOwnerAction = Type.Object(
  {
    action_id: Type.String({ description: 'Its id.' }),
    action: stringEnum(OWNER_ACTIONS, { description: 'What.' }),
    member: Type.Optional(shownMember),
    reason: Type.String({ description: 'The reason.' }),
    lifted: Type.Optional(Type.Boolean({ description: 'True if the hold ends.' })),
    override: Type.Optional(stringEnum(OVERRIDES, { description: 'Only with `member_override`.' })),
    operator_origin: Type.String({ description: 'Where it was done from.' }),
    by: Type.Optional(by),
    at: time('When.'),
  },
  { title: 'OwnerAction' },
)
export type OwnerAction = Static<typeof shownOwnerAction>

export const initiativeDocument = Type.Object(
  {
    name: initiativeName,
    outcome: Type.String({ description: 'The shared outcome to be reached.' }),
    status: stringEnum(INITIATIVE_STATUSES, { description: 'Its status.' }),
    reason: Type.Optional(Type.String({ description: 'Why it ended.' })),
    projects: Type.Array(Type.String(), {
      description: 'Keys of its projects. Visible only to those who may see all of them.',
    }),
    intent_refs: Type.Array(Type.String(), { description: 'The intent behind it.' }),
    members: Type.Array(shownMember, { description: 'The members that are steered.' }),
    authorized_by: Type.String({ description: 'Who is responsible for what it starts.' }),
    budget: shownBudget,
    assessments_made: Type.Integer({ description: 'Budget used: assessments that an agent began.' }),
    actions_applied: Type.Integer({ description: 'Budget used: actions applied.' }),
    assessment: Type.Optional(current),
    waiting: Type.Array(waitingTrigger, { description: 'Requests waiting for it to end, in order.' }),
    questions: Type.Array(question, { description: 'Questions waiting for an owner’s decision.' }),
    close_proposals: Type.Array(closeProposal, {
      description: 'Proposals to complete it, from assessments that found the outcome reached.',
    }),
    owner_decisions: Type.Array(ownerDecision, {
      description: 'Decisions of owners, binding for every later assessment; oldest first.',
    }),
    owner_actions: Type.Array(shownOwnerAction, { description: 'Actions of owners, oldest first.' }),
    assessments: Type.Array(assessed, { description: `The last ${ASSESSMENTS_SHOWN_MAX}, oldest first.` }),
    actions: Type.Array(action, { description: 'Applied actions, oldest first.' }),
    findings: Type.Array(finding, { description: 'What members may learn from each other; oldest first.' }),
    created_by: by,
    created_at: time('When it was added.'),
    ended_at: Type.Optional(time('When it was completed or cancelled.')),
  },
  { title: 'Initiative' },
)
export type Initiative = Static<typeof initiativeDocument>
