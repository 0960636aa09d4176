/**
 * The capability manifest: what an engine says it can do. The newest one per runner (if it names one) or per engine
 * name applies; work that no engine in the project can serve is refused.
 */
import { type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, LIST_MAX, NAME_LENGTH_MAX, name, runnerId, serviceId, strings, throttle, time } from './fields.ts'

const entryEvent = Type.String({ pattern: '^(\\*|[a-z][a-z0-9_]*)$', maxLength: NAME_LENGTH_MAX })

const can = (what: string) => Type.Optional(Type.Boolean({ description: `Whether it ${what}. Default false.` }))

const manifestFields = {
  schema_version: Type.Optional(name('Version of the manifest schema.')),
  engine: name('Name of the engine, such as `factory`.'),
  engine_version: name('Its version.'),
  runner_id: Type.Optional(
    runnerId('The runner that the manifest applies to: that runner is only offered work that this manifest supports.'),
  ),
  connection_type: Type.Optional(name('How the runner reaches it, such as `cli`.')),
  supported_entry_events: Type.Array(entryEvent, {
    maxItems: LIST_MAX,
    uniqueItems: true,
    description: 'Types of the entry events that it can start work from; `*` for any.',
  }),
  supported_throttle_modes: Type.Array(throttle, {
    maxItems: 2,
    uniqueItems: true,
    description: 'The throttles that it supports.',
  }),
  supports_brief_reference: can('resolves a formation brief by its reference'),
  supports_prompt_pack: can('takes a prompt for each phase'),
  supports_gate_overlay: can('runs gates beyond the project’s own'),
  supports_trace_export: can('provides its traces'),
  supports_streaming_updates: can('emits events while it works'),
  registered_blocks: Type.Optional(strings('Workflow blocks that it supports.', NAME_LENGTH_MAX)),
}

export const engineCapabilityBody = Type.Object(manifestFields, { ...CLOSED, title: 'EngineCapabilityManifest' })
export type EngineCapabilityBody = Static<typeof engineCapabilityBody>

export const engineCapabilityDocument = Type.Object(
  {
    id: serviceId('cap', 'Derived from the project and the runner or engine that the manifest applies to.'),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    ...manifestFields,
    state: stringEnum(['current', 'stale'], {
      description: '`stale` once the runner it names has been removed: the manifest no longer counts.',
    }),
    version: Type.Integer({ description: 'Goes up with every manifest that replaces another.' }),
    recorded_by: Type.Optional(by),
    recorded_at: time('When this manifest was posted.'),
    created_at: time('When the first one was posted.'),
  },
  { title: 'EngineCapability' },
)
export type EngineCapability = Static<typeof engineCapabilityDocument>
