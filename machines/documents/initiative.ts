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

const triggerId = name('Names what asks for it: the same one is assessed once.')

const budget = Type.Object(
  {
    max_assessments: Type.Optional(
      Type.Integer({ minimum: 1, maximum: BUDGET_MAX, description: 'Assessments that an agent may make.' }),
    ),
    max_actions: Type.Optional(
      Type.Integer({ minimum: 0, maximum: BUDGET_MAX, description: 'Actions that may be applied.' }),
    ),
  },
  { ...CLOSED, description: 'How much steering it may cost.' },
)

export const initiativeCreateBody = Type.Object(
  {
    name: Type.String({ pattern: SLUG_PATTERN, description: 'Its name, unique and for ever.' }),
    outcome: spoken('The shared outcome that is sought.', LONG_TEXT_LENGTH_MAX),
    projects: Type.Optional(
      Type.Array(Type.String({ pattern: PROJECT_KEY_PATTERN }), {
        maxItems: PROJECTS_MAX,
        uniqueItems: true,
        description: 'Keys of projects that it is about, beside those of its members. The first is assessed in.',
      }),
    ),
    intent_refs: Type.Optional(
      Type.Array(reference('A reference, opaque.'), { maxItems: LIST_MAX, description: 'The intent behind it.' }),
    ),
    members: Type.Array(member, {
      minItems: 1,
      maxItems: MEMBERS_MAX,
      uniqueItems: true,
      description: 'What is steered.',
    }),
    authorized_by: Type.Optional(
      spoken('Who answers for what it starts. Default: the token’s name; another one needs `approve.full`.', 128),
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
    decision: spoken('What the owner decides; every later assessment is told.'),
    reason: Type.Optional(spoken('Why.')),
    applicable_members: Type.Optional(
      Type.Array(member, {
        minItems: 1,
        maxItems: MEMBERS_MAX,
        description: 'Whom it is about. Default: whom the named question is about, or all.',
      }),
    ),
    question_id: Type.Optional(
      name('The question that it answers, and that must be open: who answers it second hears what was answered.'),
    ),
  },
  { ...CLOSED, title: 'InitiativeDecide' },
)

const reasonBody = (title: string, description: string) =>
  Type.Object({ reason: spoken(description) }, { ...CLOSED, title })
export const completeBody = reasonBody('InitiativeComplete', 'What shows that the outcome is reached.')
export const cancelBody = reasonBody('InitiativeCancel', 'Why it is given up.')

export const ownerActionBody = closedObject(
  {
    action: stringEnum(OWNER_ACTIONS, {
      description:
        '`hold`: nothing is decided about the member (or, without one, about any) until it is lifted; `milestone`: ' +
        'something was reached; `member_override`: the member takes part past the holds of its owner, or does not at all.',
    }),
    member: Type.Optional(member),
    reason: spoken('What for, or what was reached.'),
    lifted: Type.Optional(Type.Boolean({ description: 'Of a hold: it ends.' })),
    override: Type.Optional(
      stringEnum(OVERRIDES, {
        description:
          'Of a `member_override`. `exclude`: it does not advance, whatever else is so. `include`: that, and its own hold, ' +
          'are over, and a hold of all leaves it in; what waits for an answer, is under way or has ended does not advance.',
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
    decision: stringEnum(STEERING_DECISIONS, { description: 'Exactly one.' }),
    reason: spoken('Why.'),
    member: Type.Optional(memberSchema('Whom it is about.', { additionalProperties: true })),
    objective: Type.Optional(spoken('Of `dispatch` and `stage`: what is to be done.', LONG_TEXT_LENGTH_MAX)),
    question: Type.Optional(spoken('Of `ask`: what an owner has to answer.')),
    options: Type.Optional(Type.Array(spoken('An answer.'), { maxItems: OPTIONS_MAX, description: 'Of `ask`.' })),
    text: Type.Optional(spoken('Of `relay`: what is passed on.')),
    to: Type.Optional(
      Type.Array(memberSchema('Whom for.', { additionalProperties: true }), {
        maxItems: MEMBERS_MAX,
        description: 'Of `relay`. Default: every member.',
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
  { description: 'How much steering it may cost.' },
)
export type Budget = Static<typeof shownBudget>

const followUp = Type.Object(
  {
    steer_id: Type.String({ description: 'The assessment that it follows.' }),
    step: stringEnum(STEERING_DECISIONS, { description: 'What that decided.' }),
  },
  { title: 'FollowUp', description: 'Only of a follow-up.' },
)
export type FollowUp = Static<typeof followUp>

const trigger = {
  trigger_id: Type.String({ description: 'What asked for it.' }),
  member: Type.Optional(shownMember),
  follow_up_of: Type.Optional(followUp),
  requested_at: time('When.'),
}
const waitingTrigger = Type.Object(trigger)
const current = Type.Object(
  {
    ...trigger,
    item_id: serviceId('wi', 'The work item that it is.'),
    phase: stringEnum(['assessing', 'deciding'], { description: 'An agent looks; or the guards do.' }),
  },
  { description: 'The assessment under way.' },
)

const assessed = Type.Object({
  steer_id: Type.String({ description: 'The assessment’s id.' }),
  item_id: Type.String({ description: 'The work item that it was.' }),
  trigger_id: Type.String({ description: 'What asked for it.' }),
  outcome: stringEnum(STEERING_OUTCOMES, { description: 'What came of it.' }),
  decision: Type.Optional(stringEnum(STEERING_DECISIONS, { description: 'What it decided.' })),
  detail: Type.Optional(Type.String({ description: 'The reason or the error.' })),
  provider: Type.Optional(Type.String({ description: 'Who decided.' })),
  at: time('When.'),
})
export type Assessed = Static<typeof assessed>

const action = Type.Object({
  action_id: Type.String({ description: 'Its identity: the same one is applied once.' }),
  steer_id: Type.String({ description: 'The assessment that decided it.' }),
  decision: stringEnum(STEERING_DECISIONS, { description: 'What is done.' }),
  reason: Type.String({ description: 'Why.' }),
  member: Type.Optional(shownMember),
  objective: Type.Optional(Type.String({ description: 'What is to be done.' })),
  question: Type.Optional(Type.String({ description: 'Of `ask`: what an owner has to answer.' })),
  options: Type.Optional(Type.Array(Type.String(), { description: 'Answers to choose from.' })),
  provider: Type.Optional(Type.String({ description: 'Who decided.' })),
  context_fingerprint: Type.String({ description: 'Hash of what was decided upon.' }),
  item_id: Type.Optional(Type.String({ description: 'The work item that it made.' })),
  finding_id: Type.Optional(Type.String({ description: 'The finding that it made.' })),
  at: time('When.'),
})
export type Action = Static<typeof action>

const question = Type.Object({
  id: Type.String({ description: 'The action that asked.' }),
  kind: stringEnum(['ask', 'escalate'], { description: 'A question, or a call for the owner’s judgment.' }),
  member: Type.Optional(shownMember),
  text: Type.String({ description: 'What.' }),
  options: Type.Optional(Type.Array(Type.String(), { description: 'Answers to choose from.' })),
  at: time('Since when.'),
})
export type Question = Static<typeof question>

const closeProposal = Type.Object({
  id: Type.String({ description: 'The action that proposed it.' }),
  reason: Type.String({ description: 'Why the outcome is reached.' }),
  at: time('When.'),
})
export type CloseProposal = Static<typeof closeProposal>

const ownerDecision = Type.Object({
  decision: Type.String({ description: 'What was decided.' }),
  reason: Type.Optional(Type.String({ description: 'Why.' })),
  applicable_members: Type.Optional(
    Type.Array(shownMember, {
      description: 'About whom; absent: about all, or only about the question that it named.',
    }),
  ),
  question_id: Type.Optional(
    Type.String({ description: 'The question that it named; older versions did not keep it.' }),
  ),
  answers: Type.Optional(Type.Array(Type.String(), { description: 'Ids of the questions that it answered.' })),
  by: Type.Optional(by),
  at: time('When.'),
})
export type OwnerDecision = Static<typeof ownerDecision>

export const shownOwnerAction = Type.Object(
  {
    action_id: Type.String({ description: 'Its id.' }),
    action: stringEnum(OWNER_ACTIONS, { description: 'What.' }),
    member: Type.Optional(shownMember),
    reason: Type.String({ description: 'What for.' }),
    lifted: Type.Optional(Type.Boolean({ description: 'The hold ends.' })),
    override: Type.Optional(stringEnum(OVERRIDES, { description: 'Of a `member_override`.' })),
    operator_origin: Type.String({ description: 'Where from.' }),
    by: Type.Optional(by),
    at: time('When.'),
  },
  { title: 'OwnerAction' },
)
export type OwnerAction = Static<typeof shownOwnerAction>

export const initiativeDocument = Type.Object(
  {
    name: initiativeName,
    outcome: Type.String({ description: 'The shared outcome that is sought.' }),
    status: stringEnum(INITIATIVE_STATUSES, { description: 'Where it stands.' }),
    reason: Type.Optional(Type.String({ description: 'Why it ended.' })),
    projects: Type.Array(Type.String(), { description: 'Keys of its projects. It is seen by who may see each.' }),
    intent_refs: Type.Array(Type.String(), { description: 'The intent behind it.' }),
    members: Type.Array(shownMember, { description: 'What is steered.' }),
    authorized_by: Type.String({ description: 'Who answers for what it starts.' }),
    budget: shownBudget,
    assessments_made: Type.Integer({ description: 'Of its budget: assessments that an agent began.' }),
    actions_applied: Type.Integer({ description: 'Of its budget: actions.' }),
    assessment: Type.Optional(current),
    waiting: Type.Array(waitingTrigger, { description: 'Requests that wait for it to end, in their order.' }),
    questions: Type.Array(question, { description: 'What waits for an owner’s decision.' }),
    close_proposals: Type.Array(closeProposal, { description: 'Assessments that found the outcome reached.' }),
    owner_decisions: Type.Array(ownerDecision, { description: 'Binding for every later assessment; oldest first.' }),
    owner_actions: Type.Array(shownOwnerAction, { description: 'Oldest first.' }),
    assessments: Type.Array(assessed, { description: `The last ${ASSESSMENTS_SHOWN_MAX}, oldest first.` }),
    actions: Type.Array(action, { description: 'What was applied, oldest first.' }),
    findings: Type.Array(finding, { description: 'What members may learn from each other; oldest first.' }),
    created_by: by,
    created_at: time('When it was added.'),
    ended_at: Type.Optional(time('When it was completed or cancelled.')),
  },
  { title: 'Initiative' },
)
export type Initiative = Static<typeof initiativeDocument>
