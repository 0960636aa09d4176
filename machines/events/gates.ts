/** Gate orchestration (SPEC 6.11): gate definitions found, and what each gate reported before and after the work. */
import { GATE_OUTPUT_LINES_MAX } from '../bounds.ts'
import { anyObject, count, onlyWith, openObject, stringEnum, Type } from '../schema.ts'
import { engineEvent } from './event-type.ts'

const definition = openObject({
  name: Type.String(),
  command: Type.String(),
  required: Type.Boolean(),
  timeout_secs: Type.Number({ minimum: 0 }),
})

/** Definitions and actions as the gate resolution passes them on. */
export const gateDefinitions = Type.Array(definition)
export const forwardedActions = anyObject('actions forwarded from the trigger event')

const resultFields = {
  name: Type.String(),
  command: Type.String(),
  passed: Type.Boolean(),
  required: Type.Boolean(),
  output: Type.String({
    description: `at most ${GATE_OUTPUT_LINES_MAX} lines of stdout and of stderr per command run`,
  }),
  exit_code: Type.Integer(),
}

const timing = {
  duration_ms: Type.Optional(count('milliseconds the gate command took')),
  fix_applied: Type.Optional(Type.Boolean({ description: 'failed first, repaired by its fix command, then passed' })),
  logs: Type.Optional(Type.Array(Type.String(), { description: 'absolute paths of complete stdout and stderr' })),
}

const healed = onlyWith('passed', [true], 'fix_applied')

/** One gate's complete result, of preflight or verification. */
const result = openObject({ ...resultFields, ...timing }, { rules: [healed] })

/** One gate's result as reviews and campaigns quote it: the same members, none of them required. */
export const gateResult = openObject({
  name: Type.Optional(resultFields.name),
  command: Type.Optional(resultFields.command),
  passed: Type.Optional(resultFields.passed),
  required: Type.Optional(resultFields.required),
  output: Type.Optional(resultFields.output),
  exit_code: Type.Optional(resultFields.exit_code),
  ...timing,
})

const project = Type.String({ description: 'project name' })
const workflow = Type.String({ description: 'originating workflow' })
const passed = {
  all_passed: Type.Boolean({ description: 'every gate passed' }),
  required_passed: Type.Boolean({ description: 'every required gate passed' }),
}
const results = Type.Array(result, { description: 'per-gate results' })
const actions = Type.Optional(forwardedActions)

export const gateEvents = {
  gate_resolution_completed: engineEvent(
    '6.11',
    'gate definitions loaded from .tool-gates.json',
    openObject({
      project,
      workflow: stringEnum(['iterate', 'maintain', 'validate']),
      gates: gateDefinitions,
      actions,
    }),
  ),
  preflight_completed: engineEvent(
    '6.11',
    'gates passed or failed on the unmodified codebase',
    openObject({ project, workflow, ...passed, results }),
  ),
  execution_completed: engineEvent('6.11', 'code changes applied', anyObject()),
  gate_verification_completed: engineEvent(
    '6.11',
    'gates passed or failed after execution',
    openObject({ project, workflow, ...passed, retry_count: count('0 on the first attempt'), results }),
  ),
  retry_requested: engineEvent(
    '6.11',
    'a gate failure triggers a bounded retry',
    openObject({
      project,
      workflow,
      retry_count: count('incremented retry count'),
      failure_context: Type.String({
        description: "gate output of the failed verification, with the gates' log paths",
      }),
      actions,
    }),
    { command: true },
  ),
}
