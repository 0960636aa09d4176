/**
 * Task lifecycle (SPEC 6.7): an isolated one-shot execution, its skeptical review, and what became of the work. A
 * verdict and the members that belong to it always come together.
 */
import { statedRef } from '../documents/fields.ts'
import { count, exactlyWith, never, openObject, type Rule, rule, stringEnum, Type } from '../schema.ts'
import { engineEvent } from './event-type.ts'
import { gateResult } from './gates.ts'

const VERDICTS = ['complete', 'remainder', 'defect', 'blocked_on_decision', 'runner_error'] as const

/** Why work that was fit to land did not. */
const LANDING_BLOCKS = [
  'trunk_moved_conflict',
  'trunk_moved_gates_failed',
  'stale_base_conflict',
  'stale_base_gates_failed',
  'trunk_moved_repeatedly',
  'checkout_not_ready',
  'git_failed',
] as const

const verdictFields = {
  gaps: Type.Optional(Type.Array(Type.String(), { description: 'what a remainder still owes' })),
  diagnosis: Type.Optional(Type.String({ description: 'what is wrong with a defect' })),
  finding: Type.Optional(Type.String({ description: 'the question that only an owner can answer' })),
  options: Type.Optional(Type.Array(Type.String(), { description: 'the answers to choose from' })),
  detail: Type.Optional(Type.String({ description: 'what went wrong with the run itself' })),
}

const verdictRules: readonly Rule[] = [
  exactlyWith('verdict', ['remainder'], 'gaps'),
  exactlyWith('verdict', ['defect'], 'diagnosis'),
  exactlyWith('verdict', ['blocked_on_decision'], 'finding', 'options'),
  exactlyWith('verdict', ['runner_error'], 'detail'),
]

const landingRules: readonly Rule[] = [
  rule('success', [true], {
    verdict: { const: 'complete', description: 'success is true only for a complete verdict' },
    land_blocked: never('success is true only when the landing was not blocked'),
  }),
  rule('landed', [true], {
    verdict: { enum: ['complete', 'remainder'], description: 'only complete and remainder work lands' },
    land_blocked: never('it says why work did not land, and landed is true'),
  }),
  rule('land_blocked', ['continuation_conflict'], {
    verdict: { const: 'runner_error', description: 'a continuation is refused before its session starts' },
  }),
  rule('land_blocked', LANDING_BLOCKS, {
    verdict: { enum: ['complete', 'remainder'], description: 'only work that is fit to land can be blocked' },
  }),
]

/** What dispatched the task; carried by each of its events. */
const dispatched = {
  campaign: Type.Optional(Type.String({ description: 'campaign that dispatched the task' })),
  campaign_cycle: Type.Optional(count('campaign cycle that dispatched the task')),
}

export const taskRunCompleted = openObject(
  {
    project: Type.String({ description: 'registered project name' }),
    success: Type.Boolean({ description: 'true only for a complete verdict whose landing was not blocked' }),
    landed: Type.Boolean({ description: 'complete or safe converging remainder work reached trunk' }),
    summary: Type.String({ description: 'terminal summary' }),
    verdict: stringEnum(VERDICTS),
    preservation_ref: Type.Optional(statedRef('landed commit, or a remote branch or bundle:<path> of preserved work')),
    land_blocked: Type.Optional(
      stringEnum([...LANDING_BLOCKS, 'continuation_conflict'], { description: 'why work did not land' }),
    ),
    trunk_arrivals: Type.Optional(
      Type.Array(openObject({ commit: Type.String(), subject: Type.String() }), {
        description: 'trunk commits that the task branch lacked at landing, oldest first',
      }),
    ),
    workspace_base: Type.Optional(
      openObject({
        commit: Type.String({ description: 'first HEAD of the worktree' }),
        trunk: Type.String({ description: 'trunk commit seen while preparing' }),
      }),
    ),
    ...dispatched,
    ...verdictFields,
  },
  { rules: [...verdictRules, ...landingRules] },
)

const reviewed = openObject(
  {
    project: Type.Optional(Type.String()),
    objective: Type.Optional(Type.String()),
    review: Type.Optional(Type.String({ description: "the reviewer's text" })),
    gate_results: Type.Optional(Type.Array(gateResult)),
    verdict: Type.Optional(stringEnum(VERDICTS)),
    ...dispatched,
    ...verdictFields,
  },
  { rules: verdictRules },
)

export const taskEvents = {
  execution_requested: engineEvent(
    'own',
    'request to execute one task',
    openObject({
      item_id: Type.Optional(Type.String()),
      objective: Type.Optional(Type.String()),
      base_ref: Type.Optional(Type.String()),
      ...dispatched,
    }),
    { opensSpan: true, command: true },
  ),
  task_run_started: engineEvent(
    '6.7',
    'isolated one-shot task execution began',
    openObject({
      project: Type.Optional(Type.String()),
      objective: Type.Optional(Type.String()),
      ...dispatched,
    }),
    { opensSpan: true },
  ),
  task_reviewed: engineEvent('6.7', 'skeptical review produced a structural verdict', reviewed),
  task_run_completed: engineEvent(
    '6.7',
    'work was landed, durably preserved, or finished with no landing needed',
    taskRunCompleted,
  ),
}
