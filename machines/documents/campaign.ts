/**
 * The campaign's documents (SPEC 3.2, 6.8): the mission that an owner adds, what owners decide about it, and what
 * readers see. Request bodies are closed; a formation's decision comes in the Run Result, which is open.
 */
import { CYCLES_MAX, DEFAULT_MAX_CYCLES } from '../bounds.ts'
import { gateResult } from '../events/gates.ts'
import {
  closedObject,
  exactlyWith,
  nullable,
  onlyWith,
  requiredWith,
  rule,
  type Static,
  stringEnum,
  Type,
} from '../schema.ts'
import {
  by,
  CLOSED,
  LIST_MAX,
  labels,
  name,
  REFERENCE_LENGTH_MAX,
  reference,
  runnerId,
  SLUG_PATTERN,
  strings,
  TEXT_LENGTH_MAX,
  text,
  time,
  traceId,
} from './fields.ts'
import { usageDocument } from './usage.ts'
import { itemId, itemWaitingBecause, SOURCE_ROLES, WORK_ITEM_STATES } from './work-item.ts'

/** `cancelling`: its cycle is being stopped, and `cancelled` follows when that has ended. */
export const CAMPAIGN_STATUSES = [
  'staged',
  'active',
  'paused',
  'escalated',
  'cancelling',
  'completed',
  'cancelled',
] as const
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number]

/** The mission appears unabridged in every formation prompt. */
const MISSION_LENGTH_MAX = 8_000
/** The objective of one task; a work item allows more. */
export const OBJECTIVE_LENGTH_MAX = 16_000
const EVIDENCE_MAX = 32
const ESCALATIONS_MAX = 32
const STATEMENT_LENGTH_MAX = 1_000
const COMMAND_LENGTH_MAX = 2_000
/** Including all cycles added later: a mission that needs more should be a new campaign. */
export const CYCLES_IN_ALL_MAX = 10_000
/** How many objectives are remembered, newest last. */
export const HISTORY_MAX = 8
export const OWNER_DECISIONS_MAX = 64

const said = (description: string, maxLength: number = TEXT_LENGTH_MAX) =>
  Type.String({ minLength: 1, maxLength, pattern: '\\S', description })
const status = stringEnum(CAMPAIGN_STATUSES, { description: 'Where it stands.' })
const mission = said('What is to be reached, for whoever forms the next step.', MISSION_LENGTH_MAX)

const evidenceFields = {
  kind: stringEnum(['gate', 'review'], {
    description: '`gate`: a command that must succeed on delivered trunk; `review`: a statement that formation judges.',
  }),
  command: Type.Optional(said('Of a gate: what is run.', COMMAND_LENGTH_MAX)),
  required: Type.Optional(
    Type.Boolean({ description: 'Of a gate: the mission is not done without it. Default true.' }),
  ),
  artifacts: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: REFERENCE_LENGTH_MAX }), {
      maxItems: LIST_MAX,
      description: 'Of a gate: files of the repository that must be there before its command counts.',
    }),
  ),
  statement: Type.Optional(said('Of a review: what must be so.', STATEMENT_LENGTH_MAX)),
}
const evidence = closedObject(evidenceFields, {
  description: 'One piece of done-evidence.',
  rules: [
    exactlyWith('kind', ['gate'], 'command'),
    onlyWith('kind', ['gate'], 'required', 'artifacts'),
    exactlyWith('kind', ['review'], 'statement'),
  ],
})
export type Evidence = Static<typeof evidence>

const relativePath = Type.String({
  minLength: 1,
  maxLength: REFERENCE_LENGTH_MAX,
  // Below the repository's root: neither absolute nor with `..`.
  pattern: '^(?!/)(?!(?:.*/)?\\.\\.(?:/|$))[^\\u0000-\\u001f\\\\]+$',
})

export const campaignCreateBody = Type.Object(
  {
    name: Type.String({ pattern: SLUG_PATTERN, description: 'Its name, unique and for ever.' }),
    project: name('Key or id of the project.'),
    mission,
    done_evidence: Type.Array(evidence, {
      minItems: 1,
      maxItems: EVIDENCE_MAX,
      description: 'What proves the mission done. The nth gate is known as `campaign_done_<n>`, by its place in here.',
    }),
    intent_refs: Type.Optional(
      Type.Array(reference('A reference, opaque.'), { maxItems: LIST_MAX, description: 'The intent behind it.' }),
    ),
    context_paths: Type.Optional(
      Type.Array(relativePath, { maxItems: LIST_MAX, description: 'Files of the repository that formation reads.' }),
    ),
    writable_repositories: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: REFERENCE_LENGTH_MAX }), {
        maxItems: LIST_MAX,
        description: 'Only the project’s own may be named; empty means that.',
      }),
    ),
    budget: Type.Optional(
      closedObject(
        {
          max_cycles: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: CYCLES_MAX,
              description: `Tasks that it may dispatch; default ${DEFAULT_MAX_CYCLES}.`,
            }),
          ),
        },
        { description: 'What it may cost.' },
      ),
    ),
    escalation: Type.Optional(
      Type.Array(said('A condition.', STATEMENT_LENGTH_MAX), {
        maxItems: ESCALATIONS_MAX,
        description: 'Conditions in which formation must stop and ask an owner.',
      }),
    ),
    authorized_by: Type.Optional(
      nullable(
        said(
          'Who answers for what it starts. Default: the token’s name; another one needs `approve.full`; null: nobody yet.',
          128,
        ),
      ),
    ),
    agent_provider: Type.Optional(name('The provider whose agents are to work for it; handed through.')),
    labels: Type.Optional(labels('A runner must carry all of them.')),
    runner_id: Type.Optional(runnerId('Only this runner may work for it.')),
  },
  { ...CLOSED, title: 'CampaignCreate' },
)
export type CampaignCreate = Static<typeof campaignCreateBody>

export const campaignAdvanceBody = Type.Object({}, { ...CLOSED, title: 'CampaignAdvance' })
export const campaignPauseBody = Type.Object(
  { reason: Type.Optional(text('Why.')) },
  { ...CLOSED, title: 'CampaignPause' },
)
const fromTrunk = Type.Optional(
  Type.Boolean({
    description:
      'Its next task starts from trunk: kept work that has not landed is not built upon, and is left to its items. Default false.',
  }),
)
export const campaignResumeBody = Type.Object(
  {
    add_cycles: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CYCLES_MAX,
        description: `Added to its budget, once. Needed when the budget is used up. In all it has at most ${CYCLES_IN_ALL_MAX}.`,
      }),
    ),
    from_trunk: fromTrunk,
  },
  { ...CLOSED, title: 'CampaignResume' },
)
export const campaignDecideBody = Type.Object(
  { decision: said('What the owner decides. Every later formation is bound by it.'), from_trunk: fromTrunk },
  { ...CLOSED, title: 'CampaignDecide' },
)
export const campaignCompleteBody = Type.Object(
  { reason: said('What shows that the mission is complete.') },
  { ...CLOSED, title: 'CampaignComplete' },
)
export const campaignCancelBody = closedObject(
  {
    reason: said('Why it is given up.'),
    now: Type.Optional(
      Type.Boolean({ description: 'Its running cycle is stopped. Default false: it finishes, and nothing follows.' }),
    ),
    discard_work: Type.Optional(
      Type.Boolean({ description: 'With `now`: the stopped cycle’s uncommitted work is thrown away. Default false.' }),
    ),
  },
  {
    title: 'CampaignCancel',
    rules: [
      requiredWith('discard_work', [true], 'now'),
      rule('discard_work', [true], { now: { const: true, description: 'only work that is stopped now is discarded' } }),
    ],
  },
)

const verdictOfCycle = Type.Object(
  {
    item_id: itemId('The work item.'),
    state: Type.Optional(stringEnum(WORK_ITEM_STATES, { description: 'How that settled.' })),
    verdict: Type.Optional(Type.String({ description: 'The reviewer’s.' })),
    landed: Type.Optional(Type.Boolean({ description: 'It reached trunk.' })),
    land_blocked: Type.Optional(Type.String({ description: 'Why it did not.' })),
    preservation_ref: Type.Optional(Type.String({ description: 'Where the work is.' })),
    summary: Type.Optional(Type.String({ description: 'What its run said, shortened.' })),
    given_up: Type.Optional(Type.String({ description: 'A person wants what it had kept no more: why.' })),
  },
  { description: 'What came of it; without a state: nothing yet.' },
)
export type CycleOutcome = Static<typeof verdictOfCycle>

const objectiveEntry = Type.Object({
  cycle: Type.Integer({ description: 'Which cycle.' }),
  objective: Type.String({ description: 'What was to be done.' }),
  outcome: verdictOfCycle,
})
export type ObjectiveEntry = Static<typeof objectiveEntry>

const ownerDecision = Type.Object({
  decision: Type.String({ description: 'What was decided.' }),
  authorized_by: Type.String({ description: 'Who did.' }),
  decided_at: time('When.'),
})
export type OwnerDecision = Static<typeof ownerDecision>

const STAGES = ['idle', 'forming', 'cycle', 'stopping'] as const

const campaignWork = Type.Object(
  {
    role: stringEnum(SOURCE_ROLES, {
      description: '`advance`: the next step is formed; `cycle`: the step is worked on.',
    }),
    item_id: itemId('The work item.'),
    trace_id: traceId('Its trace.'),
    since: time('Since when it is in the ledger.'),
    cycle: Type.Optional(Type.Integer({ description: 'Which cycle.' })),
    objective: Type.Optional(Type.String({ description: 'What is to be done.' })),
    state: Type.Optional(stringEnum(WORK_ITEM_STATES, { description: 'Where the item stands.' })),
    reason: Type.Optional(Type.String({ description: 'Why the item stands there.' })),
    waiting_because: Type.Optional(itemWaitingBecause),
    running_on: Type.Optional(Type.String({ description: 'Its runner.' })),
  },
  { description: 'What is under way for it: one thing at a time.' },
)

export const campaignDocument = Type.Object(
  {
    name: Type.String({ description: 'Its name.' }),
    project: Type.String({ description: 'Key of its project.' }),
    project_id: Type.String({ description: 'Id of its project.' }),
    status,
    reason: Type.String({ description: 'One line: why it stands there.' }),
    since: time('Since when it stands there.'),
    stage: stringEnum(STAGES, { description: 'What happens now.' }),
    work: Type.Optional(campaignWork),
    needs: Type.Optional(Type.String({ description: 'What it needs of a person; absent: nothing.' })),
    mission: Type.String({ description: 'What is to be reached.' }),
    done_evidence: Type.Array(
      Type.Object({ name: Type.String({ description: 'What it is called.' }), ...evidenceFields }),
      {
        description: 'What proves the mission done.',
      },
    ),
    intent_refs: Type.Optional(Type.Array(Type.String(), { description: 'The intent behind it.' })),
    context_paths: Type.Optional(Type.Array(Type.String(), { description: 'Files that formation reads.' })),
    writable_repositories: Type.Optional(
      Type.Array(Type.String(), { description: 'Repositories that it may change.' }),
    ),
    escalation: Type.Optional(strings('Conditions in which an owner is asked.')),
    budget: Type.Object({
      max_cycles: Type.Integer({ description: 'Tasks that it may dispatch.' }),
      remaining: Type.Integer({ description: 'Those that are left.' }),
    }),
    cycles_completed: Type.Integer({ description: 'Tasks that it has dispatched.' }),
    cycles_landed: Type.Integer({ description: 'Task results that had landed.' }),
    authorized_by: Type.Optional(Type.String({ description: 'Who answers for it.' })),
    agent_provider: Type.Optional(Type.String({ description: 'The provider that is to work for it.' })),
    labels: Type.Optional(Type.Array(Type.String(), { description: 'A runner must carry all of them.' })),
    runner_id: Type.Optional(Type.String({ description: 'Only this runner may work for it.' })),
    base_ref: Type.Optional(
      Type.String({ description: 'Kept work that has not landed, from which its next task starts. Absent: trunk.' }),
    ),
    question: Type.Optional(
      Type.Object(
        {
          finding: Type.String({ description: 'What was found.' }),
          options: Type.Array(Type.String(), { description: 'The answers to choose from.' }),
        },
        { description: 'What its last cycle asks an owner.' },
      ),
    ),
    owner_decisions: Type.Optional(
      Type.Array(ownerDecision, { description: `What owners decided, oldest first; the last ${OWNER_DECISIONS_MAX}.` }),
    ),
    objective_history: Type.Optional(
      Type.Array(objectiveEntry, { description: `The last ${HISTORY_MAX} objectives, oldest first.` }),
    ),
    gate_results: Type.Optional(Type.Array(gateResult, { description: 'Of the last formation.' })),
    pending_run_result: Type.Optional(
      Type.Object(
        { event_id: Type.String({ description: 'The event that stated it.' }) },
        { additionalProperties: true, description: 'The task result that the next formation starts from.' },
      ),
    ),
    last_run_event_id: Type.Optional(Type.String({ description: 'The last task result that was counted.' })),
    paused: Type.Optional(
      Type.Object({
        by: stringEnum(['owner', 'provider'], { description: 'Who stopped it.' }),
        until: Type.Optional(time('It goes on by itself then.')),
        escalated: Type.Optional(
          Type.String({ description: 'Why it was escalated when it was paused: resumed, it is so again.' }),
        ),
      }),
    ),
    usage: Type.Optional(usageDocument),
    added_by: by,
    trace_id: traceId('The trace of its owners’ moves.'),
    created_at: time('When it was added.'),
    ended_at: Type.Optional(time('When it was completed or cancelled.')),
  },
  { title: 'Campaign' },
)
export type CampaignDocument = Static<typeof campaignDocument>
