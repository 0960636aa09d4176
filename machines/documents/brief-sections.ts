/** The sections of a formation brief: what people write, and what a compiled brief freezes. */
import { anyObject, stringEnum, Type } from '../schema.ts'
import { CLOSED, LIST_MAX, LONG_TEXT_LENGTH_MAX, name, reference, strings, text, throttle } from './fields.ts'

const idOrStatement = (description: string) =>
  Type.Array(
    Type.Object(
      {
        id: Type.Optional(name('The intent record that it comes from, by its id or key.')),
        name: Type.Optional(name('Its name.')),
        statement: Type.Optional(text('What it says.')),
        severity: Type.Optional(name('How bad its loss would be.')),
        priority: Type.Optional(name('How much it matters.')),
        scope: Type.Optional(text('Where it holds.')),
        evidence_required: Type.Optional(strings('What would show that it holds.')),
      },
      { additionalProperties: true, title: 'ProtectedCapability' },
    ),
    { maxItems: LIST_MAX, description },
  )

const ROLE_ACCESSES = ['read_only', 'full'] as const

const INTENT_REFS = (kind: string): string =>
  `${kind} intent that it serves: intent records of the project, by id (\`ir_...\`) or key (\`<project>.intent.<slug>\`); whatever else stands here is kept as a reference to elsewhere.`

const mission = Type.Object(
  {
    objective: Type.String({ minLength: 1, maxLength: LONG_TEXT_LENGTH_MAX, description: 'What to achieve.' }),
    definition_of_done: Type.Optional(strings('What is true when it is done.')),
    stop_conditions: Type.Optional(strings('What ends the work early.')),
    product_intent_refs: Type.Optional(strings(INTENT_REFS('Product'))),
    design_intent_refs: Type.Optional(strings(INTENT_REFS('Design'))),
    engineering_intent_refs: Type.Optional(strings(INTENT_REFS('Engineering'))),
  },
  { additionalProperties: true, title: 'Mission', description: 'What the run is for.' },
)

const agentFormation = Type.Object(
  {
    pattern: Type.Optional(name('Such as `solo_implementer` or `planner_coder_reviewer`.')),
    roles: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: name('The role.'),
            access: Type.Optional(stringEnum(ROLE_ACCESSES, { description: 'What it may touch.' })),
            capabilities: Type.Optional(strings('What it can do.')),
            model_preference: Type.Optional(name('Which model it would rather have.')),
            handoff: Type.Optional(text('What it hands on, and to whom.')),
          },
          { additionalProperties: true, title: 'AgentRole' },
        ),
        { maxItems: LIST_MAX, description: 'Who takes part.' },
      ),
    ),
  },
  { additionalProperties: true, title: 'AgentFormation', description: 'How the agents are set up.' },
)

const engineControls = Type.Object(
  {
    entry_event: Type.Optional(name('Type of the event that starts the work.')),
    throttle: Type.Optional(throttle),
    max_iterations: Type.Optional(Type.Integer({ minimum: 1, description: 'Iterations at most.' })),
    actions: Type.Optional(anyObject('Which engine actions run: {iterate, maintain}.')),
    gate_profile: Type.Optional(name('Which gates run.')),
    maintenance_may_chain: Type.Optional(Type.Boolean({ description: 'Maintenance may follow by itself.' })),
    commit_allowed: Type.Optional(Type.Boolean({ description: 'The engine may commit.' })),
    push_allowed: Type.Optional(Type.Boolean({ description: 'The engine may push.' })),
    payload: Type.Optional(anyObject('Payload of the entry event.')),
  },
  { additionalProperties: true, title: 'EngineControls', description: 'How the engine is to run.' },
)

const targetRepo = Type.Object(
  {
    path: Type.Optional(reference('Path or URL, as the runner understands it.')),
    revision: Type.Optional(reference('The revision that the brief is written for.')),
    branch: Type.Optional(reference('The branch to work on.')),
  },
  {
    ...CLOSED,
    title: 'BriefRepository',
    description: 'The repository that the brief is written for. An approval holds for its revision.',
  },
)

/** What people write. */
export const briefSections = {
  title: Type.Optional(name('What people call it.')),
  mission,
  relevant_intent: Type.Optional(anyObject('The values it was made from, known conflicts, open questions.')),
  protected_capabilities: Type.Optional(idOrStatement('What must still hold afterwards.')),
  threats_to_watch: Type.Optional(strings('Patterns that signal drift.')),
  strategies_to_prefer: Type.Optional(strings('How to go about it.')),
  forbidden_moves: Type.Optional(strings('What not to do.')),
  tradeoffs: Type.Optional(strings('What may be given up for what.')),
  evidence_plan: Type.Optional(
    Type.Object(
      {
        required: Type.Optional(strings('What must be shown.')),
        suggested: Type.Optional(strings('What would help.')),
      },
      { additionalProperties: true, title: 'EvidencePlan', description: 'What would prove that it held.' },
    ),
  ),
  agent_formation: Type.Optional(agentFormation),
  gate_overlay: Type.Optional(anyObject('Gates beyond the project’s own: {id, applies_to, gates, mode}.')),
  engine_controls: Type.Optional(engineControls),
  feedback_hooks: Type.Optional(strings('What to do on completion.')),
  repo: Type.Optional(targetRepo),
  throttle: Type.Optional(throttle),
}
