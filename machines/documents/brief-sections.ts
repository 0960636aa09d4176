/** The sections of a formation brief: what people write, and what a compiled brief freezes. */
import { anyObject, stringEnum, Type } from '../schema.ts'
import { CLOSED, LIST_MAX, LONG_TEXT_LENGTH_MAX, name, reference, strings, text, throttle } from './fields.ts'

const idOrStatement = (description: string) =>
  Type.Array(
    Type.Object(
      {
        id: Type.Optional(name('The intent record it comes from, by its id or key.')),
        name: Type.Optional(name('Its name.')),
        statement: Type.Optional(text('What it says.')),
        severity: Type.Optional(name('How severe it is.')),
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
  `${kind} intent it serves: intent records of the project, by id (\`ir_...\`) or key (\`<project>.intent.<slug>\`); anything else is kept as an external reference.`

const mission = Type.Object(
  {
    objective: Type.String({
      minLength: 1,
      maxLength: LONG_TEXT_LENGTH_MAX,
      pattern: '\\S',
      description: 'What to achieve.',
    }),
    definition_of_done: Type.Optional(strings('Conditions that are true when it is done.')),
    stop_conditions: Type.Optional(strings('Conditions that end the work early.')),
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
            model_preference: Type.Optional(name('The model it prefers.')),
            handoff: Type.Optional(text('What it hands over, and to whom.')),
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
    max_iterations: Type.Optional(Type.Integer({ minimum: 1, description: 'Maximum number of iterations.' })),
    actions: Type.Optional(anyObject('Which engine actions run: {iterate, maintain}.')),
    gate_profile: Type.Optional(name('Which gates run.')),
    maintenance_may_chain: Type.Optional(
      Type.Boolean({ description: 'Whether maintenance may follow automatically.' }),
    ),
    commit_allowed: Type.Optional(Type.Boolean({ description: 'Whether the engine may commit.' })),
    push_allowed: Type.Optional(Type.Boolean({ description: 'Whether the engine may push.' })),
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
  title: Type.Optional(name('Title of the brief.')),
  mission,
  relevant_intent: Type.Optional(anyObject('Source values, known conflicts, and open questions.')),
  protected_capabilities: Type.Optional(idOrStatement('What must still hold afterwards.')),
  threats_to_watch: Type.Optional(strings('Patterns that signal drift.')),
  strategies_to_prefer: Type.Optional(strings('Preferred approaches.')),
  forbidden_moves: Type.Optional(strings('What not to do.')),
  tradeoffs: Type.Optional(strings('Which tradeoffs are acceptable.')),
  evidence_plan: Type.Optional(
    Type.Object(
      {
        required: Type.Optional(strings('Evidence that must be produced.')),
        suggested: Type.Optional(strings('Evidence that helps but is not required.')),
      },
      { additionalProperties: true, title: 'EvidencePlan', description: 'What would show that the intent held.' },
    ),
  ),
  agent_formation: Type.Optional(agentFormation),
  gate_overlay: Type.Optional(anyObject('Gates beyond the project’s own: {id, applies_to, gates, mode}.')),
  engine_controls: Type.Optional(engineControls),
  feedback_hooks: Type.Optional(strings('What to do on completion.')),
  repo: Type.Optional(targetRepo),
  throttle: Type.Optional(throttle),
}
