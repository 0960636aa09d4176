/** The Run Result: what came of the work, in the engine's words. Open, since engines report more than is known here. */
import { anyObject, type Static, stringEnum, Type } from '../schema.ts'
import { LIST_MAX, name, reference, strings, text, throttle, time } from './fields.ts'

/** The successful statuses. */
export const RUN_STATUSES = ['completed', 'completed_with_findings'] as const

const gateResult = Type.Object(
  {
    name: name('Name of the gate.'),
    phase: Type.Optional(name('When it ran, such as `verify`.')),
    status: Type.Optional(name('`passed` or `failed`.')),
    details: Type.Optional(text('Its output.')),
  },
  { additionalProperties: true },
)

/** What came of the work. Open: an engine may add fields of its own. */
export const runResult = Type.Object(
  {
    schema_version: Type.Optional(name('Version of the document schema.')),
    run_request_id: Type.Optional(name('The run request.')),
    engine_run_id: Type.Optional(name('The engine run.')),
    brief_id: Type.Optional(name('The brief that was followed.')),
    brief_digest: Type.Optional(name('Its digest.')),
    project_id: Type.Optional(name('The project.')),
    status: Type.Optional(stringEnum(RUN_STATUSES, { description: 'How it ended; default `completed`.' })),
    repo_revision_before: Type.Optional(reference('Revision at which the work began.')),
    repo_revision_after: Type.Optional(reference('Revision at which the work ended.')),
    throttle: Type.Optional(throttle),
    entry_event: Type.Optional(name('The entry event.')),
    retry_count: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of gate retries inside the engine.' })),
    gates: Type.Optional(Type.Array(gateResult, { maxItems: LIST_MAX, description: 'Results of the gates.' })),
    commit: Type.Optional(anyObject('Result of the commit.')),
    push: Type.Optional(anyObject('Result of the push.')),
    trace_uri: Type.Optional(reference('Where the full trace is.')),
    summary: Type.Optional(
      Type.Object(
        {
          capabilities_preserved: Type.Optional(strings('Capabilities that held.')),
          capabilities_at_risk: Type.Optional(strings('Capabilities that may no longer hold.')),
          threats_observed: Type.Optional(strings('Threats that were seen.')),
          follow_up_questions: Type.Optional(strings('Questions for a person.')),
        },
        { additionalProperties: true, description: 'What the run means for the brief.' },
      ),
    ),
    evidence_observations: Type.Optional(
      Type.Array(anyObject('An observation.'), { maxItems: LIST_MAX, description: 'Evidence observed by the run.' }),
    ),
    errors: Type.Optional(
      Type.Array(Type.Unknown(), {
        maxItems: LIST_MAX,
        description: 'Problems that did not end the run.',
      }),
    ),
    completed_at: Type.Optional(time('When the work ended.')),
  },
  { additionalProperties: true, title: 'RunResult' },
)
export type RunResult = Static<typeof runResult> & Readonly<Record<string, unknown>>
