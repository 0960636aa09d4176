import { AT, BY, PROJECT_ID } from './constants.ts'

const manifest = {
  schema_version: 'intendant.engine_capability.v1',
  engine: 'factory',
  engine_version: '4.2.0',
  runner_id: 'laptop',
  supported_entry_events: ['execution_requested', 'greet_requested'],
  supported_throttle_modes: ['dry_run', 'full'],
  supports_brief_reference: true,
  supports_prompt_pack: true,
  registered_blocks: ['compose', 'deliver'],
}
const recorded = {
  id: 'cap_33445566778899aabbccddee',
  project: 'greeter',
  project_id: PROJECT_ID,
  ...manifest,
  state: 'current',
  version: 1,
  recorded_by: BY,
  recorded_at: AT,
  created_at: AT,
}

export const engineCapabilityExamples = {
  'POST /api/projects/:id/engine-capabilities': { body: manifest, answer: recorded },
  'GET /api/projects/:id/engine-capabilities': { answer: { items: [recorded] } },
}
