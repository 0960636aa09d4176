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
  prompted,
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
const status = stringEnum(CAMPAIGN_STATUSES, { description: 'Its status.' })
const mission = prompted('What is to be achieved, addressed to the agent that forms the next step.', MISSION_LENGTH_MAX)

const evidenceFields = {
  kind: stringEnum(['gate', 'review'], {
    description: '`gate`: a command that must succeed on trunk; `review`: a statement that formation judges.',
  }),
  command: Type.Optional(said('For a gate: the command to run.', COMMAND_LENGTH_MAX)),
  required: Type.Optional(
    Type.Boolean({ description: 'For a gate: whether the mission is done only if it succeeds. Default true.' }),
  ),
  artifacts: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: REFERENCE_LENGTH_MAX }), {
      maxItems: LIST_MAX,
      description: 'For a gate: files of the repository that must exist for its command to count.',
    }),
  ),
  statement: Type.Optional(said('For a review: what must be true.', STATEMENT_LENGTH_MAX)),
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
    name: Type.String({ pattern: SLUG_PATTERN, description: 'Its name; unique, never changes.' }),
    project: name('Key or id of the project.'),
    mission,
    done_evidence: Type.Array(evidence, {
      minItems: 1,
      maxItems: EVIDENCE_MAX,
      description: 'What proves the mission done. The nth entry, if a gate, is named `campaign_done_<n>`.',
    }),
    intent_refs: Type.Optional(
      Type.Array(reference('An opaque reference.'), { maxItems: LIST_MAX, description: 'The intent behind it.' }),
    ),
    context_paths: Type.Optional(
      Type.Array(relativePath, { maxItems: LIST_MAX, description: 'Files of the repository that formation reads.' }),
    ),
    writable_repositories: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: REFERENCE_LENGTH_MAX }), {
        maxItems: LIST_MAX,
        description: 'Only the project’s own may be named; empty means the same.',
      }),
    ),
    budget: Type.Optional(
      closedObject(
        {
          max_cycles: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: CYCLES_MAX,
              description: `Maximum number of tasks it may dispatch; default ${DEFAULT_MAX_CYCLES}.`,
            }),
          ),
        },
        { description: 'Its budget.' },
      ),
    ),
    escalation: Type.Optional(
      Type.Array(said('A condition.', STATEMENT_LENGTH_MAX), {
        maxItems: ESCALATIONS_MAX,
        description: 'Conditions under which formation must stop and ask an owner.',
      }),
    ),
    authorized_by: Type.Optional(
      nullable(
        said(
          'Who is responsible for what it starts. Default: the token’s name; any other name needs `approve.full`; null: nobody yet.',
          128,
        ),
      ),
    ),
    agent_provider: Type.Optional(name('The provider whose agents should work for it; passed through.')),
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
      'Start its next task from trunk: preserved work that has not landed is not built upon, and stays with its items. Default false.',
  }),
)
export const campaignResumeBody = Type.Object(
  {
    add_cycles: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CYCLES_MAX,
        description: `Added to its budget once. Required if the budget is used up. The budget is at most ${CYCLES_IN_ALL_MAX} in all.`,
      }),
    ),
    from_trunk: fromTrunk,
  },
  { ...CLOSED, title: 'CampaignResume' },
)
export const campaignDecideBody = Type.Object(
  { decision: prompted('The owner’s decision. It binds every later formation.'), from_trunk: fromTrunk },
  { ...CLOSED, title: 'CampaignDecide' },
)
export const campaignCompleteBody = Type.Object(
  { reason: said('What shows that the mission is complete.') },
  { ...CLOSED, title: 'CampaignComplete' },
)
export const campaignCancelBody = closedObject(
  {
    reason: said('Why it is cancelled.'),
    now: Type.Optional(
      Type.Boolean({ description: 'Stop its running cycle. Default false: the cycle finishes, and nothing follows.' }),
    ),
    discard_work: Type.Optional(
      Type.Boolean({ description: 'With `now`: discard the stopped cycle’s uncommitted work. Default false.' }),
    ),
  },
  {
    title: 'CampaignCancel',
    rules: [
      requiredWith('discard_work', [true], 'now'),
      rule('discard_work', [true], {
        now: { const: true, description: 'only work that is stopped now can be discarded' },
      }),
    ],
  },
)

const verdictOfCycle = Type.Object(
  {
    item_id: itemId('The work item.'),
    state: Type.Optional(stringEnum(WORK_ITEM_STATES, { description: 'How the item settled.' })),
    verdict: Type.Optional(Type.String({ description: 'The reviewer’s verdict.' })),
    landed: Type.Optional(Type.Boolean({ description: 'Whether it reached trunk.' })),
    land_blocked: Type.Optional(Type.String({ description: 'Why it did not land.' })),
    preservation_ref: Type.Optional(Type.String({ description: 'Ref of the work.' })),
    summary: Type.Optional(Type.String({ description: 'Summary from its run, shortened.' })),
    given_up: Type.Optional(Type.String({ description: 'Why a person gave up the work it had preserved.' })),
  },
  { description: 'Its outcome; without a state, there is none yet.' },
)
export type CycleOutcome = Static<typeof verdictOfCycle>

const objectiveEntry = Type.Object({
  cycle: Type.Integer({ description: 'Number of the cycle.' }),
  objective: Type.String({ description: 'The objective.' }),
  outcome: verdictOfCycle,
})
export type ObjectiveEntry = Static<typeof objectiveEntry>

const ownerDecision = Type.Object({
  decision: Type.String({ description: 'The decision.' }),
  authorized_by: Type.String({ description: 'Who decided.' }),
  decided_at: time('When.'),
})
export type OwnerDecision = Static<typeof ownerDecision>

const STAGES = ['idle', 'forming', 'cycle', 'stopping'] as const

const campaignWork = Type.Object(
  {
    role: stringEnum(SOURCE_ROLES, {
      description: '`advance`: the next step is being formed; `cycle`: a task is being worked on.',
    }),
    item_id: itemId('The work item.'),
    trace_id: traceId('Its trace.'),
    since: time('When it entered the ledger.'),
    cycle: Type.Optional(Type.Integer({ description: 'Number of the cycle.' })),
    objective: Type.Optional(Type.String({ description: 'What is to be done.' })),
    state: Type.Optional(stringEnum(WORK_ITEM_STATES, { description: 'State of the item.' })),
    reason: Type.Optional(Type.String({ description: 'Reason for that state.' })),
    waiting_because: Type.Optional(itemWaitingBecause),
    running_on: Type.Optional(Type.String({ description: 'Its runner.' })),
  },
  { description: 'The one thing under way for it.' },
)

export const campaignDocument = Type.Object(
  {
    name: Type.String({ description: 'Its name.' }),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    status,
    reason: Type.String({ description: 'One line: why it has this status.' }),
    since: time('Since when it has this status.'),
    stage: stringEnum(STAGES, { description: 'What happens now.' }),
    work: Type.Optional(campaignWork),
    needs: Type.Optional(Type.String({ description: 'What it needs from a person; absent: nothing.' })),
    mission: Type.String({ description: 'What is to be achieved.' }),
    done_evidence: Type.Array(
      Type.Object({ name: Type.String({ description: 'Name of the evidence.' }), ...evidenceFields }),
      {
        description: 'What proves the mission done.',
      },
    ),
    intent_refs: Type.Optional(Type.Array(Type.String(), { description: 'The intent behind it.' })),
    context_paths: Type.Optional(Type.Array(Type.String(), { description: 'Files that formation reads.' })),
    writable_repositories: Type.Optional(
      Type.Array(Type.String(), { description: 'Repositories that it may change.' }),
    ),
    escalation: Type.Optional(strings('Conditions under which an owner is asked.')),
    budget: Type.Object({
      max_cycles: Type.Integer({ description: 'Maximum number of tasks it may dispatch.' }),
      remaining: Type.Integer({ description: 'Tasks remaining in the budget.' }),
    }),
    cycles_completed: Type.Integer({ description: 'Tasks that it has dispatched.' }),
    cycles_landed: Type.Integer({ description: 'Task results that landed.' }),
    authorized_by: Type.Optional(Type.String({ description: 'Who is responsible for it.' })),
    agent_provider: Type.Optional(Type.String({ description: 'The provider that should work for it.' })),
    labels: Type.Optional(Type.Array(Type.String(), { description: 'A runner must carry all of them.' })),
    runner_id: Type.Optional(Type.String({ description: 'Only this runner may work for it.' })),
    base_ref: Type.Optional(
      Type.String({
        description: 'Preserved work that has not landed, from which its next task starts. Absent: trunk.',
      }),
    ),
    question: Type.Optional(
      Type.Object(
        {
          finding: Type.String({ description: 'What was found.' }),
          options: Type.Array(Type.String(), { description: 'Suggested answers.' }),
        },
        { description: 'The question of its last cycle to an owner.' },
      ),
    ),
    owner_decisions: Type.Optional(
      Type.Array(ownerDecision, { description: `Decisions of owners, oldest first; the last ${OWNER_DECISIONS_MAX}.` }),
    ),
    objective_history: Type.Optional(
      Type.Array(objectiveEntry, { description: `The last ${HISTORY_MAX} objectives, oldest first.` }),
    ),
    gate_results: Type.Optional(Type.Array(gateResult, { description: 'Gate results of the last formation.' })),
    pending_run_result: Type.Optional(
      Type.Object(
        { event_id: Type.String({ description: 'The event that stated the result.' }) },
        { additionalProperties: true, description: 'The task result that the next formation starts from.' },
      ),
    ),
    last_run_event_id: Type.Optional(Type.String({ description: 'The last task result that was counted.' })),
    paused: Type.Optional(
      Type.Object({
        by: stringEnum(['owner', 'provider'], { description: 'Who paused it.' }),
        until: Type.Optional(time('When it resumes automatically.')),
        escalated: Type.Optional(
          Type.String({ description: 'Why it was escalated when it was paused; it is escalated again when resumed.' }),
        ),
      }),
    ),
    usage: Type.Optional(usageDocument),
    added_by: by,
    trace_id: traceId('The trace of its owners’ actions.'),
    created_at: time('When it was added.'),
    ended_at: Type.Optional(time('When it was completed or cancelled.')),
  },
  { title: 'Campaign' },
)
export type CampaignDocument = Static<typeof campaignDocument>
