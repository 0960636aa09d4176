/**
 * The work item's documents (SPEC 3.1, 6.9): what a caller submits, what an operator decides about it, and what readers
 * see. Request bodies are closed.
 */
import { LANES } from '../run-request/lanes.ts'
import { anyObject, type Static, stringEnum, Type } from '../schema.ts'
import {
  by,
  CLOSED,
  LIST_MAX,
  LONG_TEXT_LENGTH_MAX,
  labels,
  name,
  reference,
  runnerId,
  serviceId,
  TEXT_LENGTH_MAX,
  text,
  time,
  traceId,
} from './fields.ts'
import { TIMEOUT_SECONDS_MAX } from './run-request.ts'
import { usageDocument } from './usage.ts'

export const WORK_ITEM_STATES = [
  'submitted',
  'queued',
  'held',
  'running',
  'landed',
  'preserved',
  'needs_decision',
  'failed',
  'cancelled',
] as const
export type WorkItemState = (typeof WORK_ITEM_STATES)[number]

/** Admitted; no work has been done yet. */
export const WAITING_STATES = ['submitted', 'queued', 'held'] as const
/** Settled, but somebody must still discharge what is left. */
export const OPEN_STATES = ['preserved', 'needs_decision', 'failed'] as const
/** Settled with nothing owed. */
export const TERMINAL_STATES = ['landed', 'cancelled'] as const
/** An item settles rather than completes: settling may leave an obligation. */
export const SETTLED_STATES = [...TERMINAL_STATES, ...OPEN_STATES] as const
export type SettledState = (typeof SETTLED_STATES)[number]

const SETTLED: ReadonlySet<string> = new Set(SETTLED_STATES)
const TERMINAL: ReadonlySet<string> = new Set(TERMINAL_STATES)
const OPEN: ReadonlySet<string> = new Set(OPEN_STATES)

export function isSettledItem(state: string): boolean {
  return SETTLED.has(state)
}

export function isTerminalItem(state: string): boolean {
  return TERMINAL.has(state)
}

export function isOpenItem(state: string): boolean {
  return OPEN.has(state)
}

export const WORK_ITEM_KINDS = [
  'task',
  'campaign_cycle',
  'maintenance',
  'major_upgrade',
  'release',
  'remediation',
] as const
export type WorkItemKind = (typeof WORK_ITEM_KINDS)[number]
/** The kinds that callers submit; cycles, formations and assessments are opened by their campaign or initiative. */
export const SUBMITTED_KINDS = ['task', 'maintenance', 'major_upgrade', 'release', 'remediation'] as const

export const SOURCE_KINDS = ['campaign', 'initiative', 'sentinel', 'operator', 'work_item'] as const
export const SOURCE_ROLES = ['cycle', 'advance', 'assessment'] as const
export type SourceRole = (typeof SOURCE_ROLES)[number]
export const OPERATOR_COMMANDS = ['close', 'cancel', 'resume', 'hold', 'release'] as const
export type OperatorCommand = (typeof OPERATOR_COMMANDS)[number]

const WAITING_CODES = [
  'submitted',
  'held',
  'dependency_cannot_land',
  'project_archived',
  'campaign_paused',
  'stopping',
  'repository_busy',
  'label_limit',
  'running_cap',
  'not_before',
  'dependency',
  'lane_paused',
  'no_runner',
  'limited',
  'runner_removed',
  'next',
  'handed_out',
  'provider_unavailable',
  'passed_over',
] as const
export type ItemWaitingCode = (typeof WAITING_CODES)[number]

const RUNNING_CODES = ['run_lost', 'stopping'] as const
export type ItemReasonCode = (typeof RUNNING_CODES)[number]

/** Most items that one item may depend on. */
const DEPENDENCIES_MAX = LIST_MAX
/** How many owner actions are remembered, newest last. */
export const OPERATOR_ACTIONS_MAX = 64

const state = stringEnum(WORK_ITEM_STATES, { description: 'Its state.' })
const lane = stringEnum(LANES, { description: 'A paused lane starts nothing.' })
export const itemId = (description: string) => serviceId('wi', description)
const objective = Type.String({
  minLength: 1,
  maxLength: LONG_TEXT_LENGTH_MAX,
  pattern: '\\S',
  description: 'What is to be done, addressed to the agent that does it.',
})
const dependsOn = Type.Array(itemId('An item that must land first.'), {
  maxItems: DEPENDENCIES_MAX,
  uniqueItems: true,
  description: 'Items that must land first.',
})
const context = anyObject('Additional context for the engine; passed through unchanged.')

export const workItemCreateBody = Type.Object(
  {
    project: name('Key or id of the project.'),
    objective,
    kind: Type.Optional(stringEnum(SUBMITTED_KINDS, { description: 'Default `task`.' })),
    lane: Type.Optional(
      stringEnum(LANES, {
        description: 'Default: `interactive`; for maintenance and major upgrades, `maintenance`.',
      }),
    ),
    depends_on: Type.Optional(dependsOn),
    not_before: Type.Optional(time('Not to be started before this time.')),
    base_ref: Type.Optional(reference('The ref that the work starts from. Default: trunk.')),
    context: Type.Optional(context),
    payload: Type.Optional(anyObject('For a release or a remediation: payload of its entry event.')),
    labels: Type.Optional(labels('A runner must carry all of them.')),
    runner_id: Type.Optional(runnerId('Only this runner may take it.')),
    timeout_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: TIMEOUT_SECONDS_MAX, description: 'Maximum duration of a run.' }),
    ),
    sentinel: Type.Optional(name('The cron trigger that submits it; recorded as its source.')),
    repeats: Type.Optional(
      itemId('The item of the project whose work is asked for again; kept as its source. Not beside `sentinel`.'),
    ),
    allow_duplicate: Type.Optional(
      Type.Boolean({ description: 'Accept it even if an unsettled item of the project asks for the same.' }),
    ),
  },
  { ...CLOSED, title: 'WorkItemCreate' },
)
export type WorkItemCreate = Static<typeof workItemCreateBody>

/** Body of hold and of release. */
export const operateBody = Type.Object({}, { ...CLOSED, title: 'WorkItemOperate' })

export const closeItemBody = Type.Object(
  {
    reason: Type.String({
      minLength: 1,
      maxLength: TEXT_LENGTH_MAX,
      pattern: '\\S',
      description: 'Why nothing more needs to be done for the item.',
    }),
  },
  { ...CLOSED, title: 'WorkItemClose' },
)

export const cancelItemBody = Type.Object(
  {
    reason: Type.Optional(text('Why.')),
    discard_work: Type.Optional(Type.Boolean({ description: 'Its runner discards uncommitted work. Default false.' })),
  },
  { ...CLOSED, title: 'WorkItemCancel' },
)

export const resumeItemBody = Type.Object(
  {
    objective: Type.Optional(objective),
    depends_on: Type.Optional(dependsOn),
    not_before: Type.Optional(time('Not to be started before this time.')),
  },
  { ...CLOSED, title: 'WorkItemResume' },
)
export type ResumeItem = Static<typeof resumeItemBody>

const source = Type.Object(
  {
    kind: stringEnum(SOURCE_KINDS, { description: 'Kind of the submitter.' }),
    ref: Type.String({ description: 'Reference of the submitter.' }),
    role: Type.Optional(
      stringEnum(SOURCE_ROLES, {
        description:
          'Its role for a campaign or an initiative: the work itself, forming the next step, or an assessment.',
      }),
    ),
    cycle: Type.Optional(Type.Integer({ description: 'The campaign’s cycle.' })),
  },
  { title: 'WorkItemSource', description: 'Who submitted it, as data. Never changes.' },
)
export type Source = Static<typeof source>

const disposition = Type.Object(
  {
    verdict: Type.Optional(Type.String({ description: 'The reviewer’s verdict.' })),
    landed_commit: Type.Optional(Type.String({ description: 'Trunk commit as which the work landed.' })),
    preservation_ref: Type.Optional(
      Type.String({ description: 'Branch or `bundle:<path>` that holds unlanded work.' }),
    ),
    worktree: Type.Optional(Type.String({ description: 'Isolated worktree used.' })),
    worktree_removed: Type.Optional(Type.Boolean({ description: 'True if the worktree was gone by then.' })),
  },
  { description: 'How it ended.' },
)
export type Disposition = Static<typeof disposition>

const operatorAction = Type.Object(
  {
    command: stringEnum(OPERATOR_COMMANDS, { description: 'What was requested.' }),
    origin: Type.String({ description: 'Where it was requested from.' }),
    previous_state: state,
    previous_reason: Type.String({ description: 'Its reason until then.' }),
    previous_settled_at: Type.Optional(time('When it settled.')),
    at: time('When.'),
    by: Type.Optional(by),
  },
  { title: 'OperatorAction', description: 'What an owner did about it.' },
)
export type OperatorAction = Static<typeof operatorAction>

const resumption = Type.Object({
  item_id: itemId('The item that continues the work.'),
  state: Type.Optional(stringEnum(SETTLED_STATES, { description: 'How it settled; absent until then.' })),
})
export type Resumption = Static<typeof resumption>

export const itemWaitingBecause = Type.Object(
  {
    code: stringEnum(WAITING_CODES, { description: 'The first rule that holds it back.' }),
    detail: Type.String({ description: 'The same in words.' }),
  },
  { title: 'ItemWaitingBecause', description: 'Why it has not started. Computed by the running service, not stored.' },
)
export type ItemWaitingBecause = Static<typeof itemWaitingBecause>

export const workItemDocument = Type.Object(
  {
    id: itemId('The item’s id.'),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    objective: Type.String({ description: 'What is to be done.' }),
    kind: stringEnum(WORK_ITEM_KINDS, { description: 'What kind of work it is.' }),
    lane,
    state,
    reason: Type.String({ description: 'One line: why it is in that state.' }),
    reason_code: Type.Optional(
      stringEnum(RUNNING_CODES, {
        description:
          'For a running item: its run is lost and must be requeued or failed, or it is being stopped. Computed by the running service, not stored.',
      }),
    ),
    waiting_because: Type.Optional(itemWaitingBecause),
    origin: Type.String({ description: 'Where it was submitted from; opaque.' }),
    source,
    depends_on: Type.Optional(Type.Array(Type.String(), { description: 'Items that must land first.' })),
    not_before: Type.Optional(time('Not to be started before this time.')),
    base_ref: Type.Optional(Type.String({ description: 'The ref that the work starts from.' })),
    context: Type.Optional(context),
    payload: Type.Optional(anyObject('Payload of its entry event, for a release or a remediation.')),
    labels: Type.Optional(Type.Array(Type.String(), { description: 'A runner must carry all of them.' })),
    runner_id: Type.Optional(Type.String({ description: 'Only this runner may take it.' })),
    timeout_seconds: Type.Optional(Type.Integer({ description: 'Maximum duration of a run.' })),
    resumes: Type.Optional(Type.String({ description: 'The preserved item whose work it continues.' })),
    resumptions: Type.Optional(Type.Array(resumption, { description: 'Items that continue its work, oldest first.' })),
    built_upon_by: Type.Optional(
      Type.String({
        description: 'For preserved work: the campaign that builds upon it. It cannot also be resumed.',
      }),
    ),
    trace_id: traceId('Its own trace; no other item has it.'),
    submitted_trace_id: Type.Optional(Type.String({ description: 'Trace of the request that submitted it.' })),
    run_request_id: Type.Optional(Type.String({ description: 'The run request it was last handed out as.' })),
    running_on: Type.Optional(Type.String({ description: 'The runner that last began it.' })),
    disposition: Type.Optional(disposition),
    operator_action: Type.Optional(operatorAction),
    operator_actions: Type.Optional(
      Type.Array(operatorAction, { description: `All of them, oldest first; the last ${OPERATOR_ACTIONS_MAX}.` }),
    ),
    submitted_by: by,
    submitted_at: time('When it was submitted.'),
    started_at: Type.Optional(time('When its runner began.')),
    settled_at: Type.Optional(time('When it settled.')),
    usage: Type.Optional(usageDocument),
  },
  { title: 'WorkItem' },
)
export type WorkItem = Static<typeof workItemDocument>
