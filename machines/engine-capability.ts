/**
 * An engine's capabilities in one project: one actor for each runner or engine name, which holds the newest manifest.
 * Older ones stand in the log.
 */
import { assign, emit, setup } from 'xstate'
import type { EngineCapability, EngineCapabilityBody } from './documents/engine-capability.ts'
import { projectEnvelope } from './envelope.ts'
import {
  type By,
  declaredActions,
  type Fact,
  type MachineModule,
  type Message,
  type MessageBody,
  type Refusal,
  type SnapshotOf,
  type Term,
} from './machine.ts'
import {
  type CreateBody,
  type CreationRecord,
  creationRecord,
  creationRefusal,
  creationRepeat,
  secondCreate,
} from './second-create.ts'
import type { Testimony } from './testimony.ts'

export interface EngineCapabilityContext {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  readonly manifest: EngineCapabilityBody
  readonly version: number
  readonly recorded_by?: By
  readonly recorded_at: string
  readonly created_at: string
  readonly internal: { readonly creation: CreationRecord; readonly digest: string }
}

interface RecordCapabilities extends Omit<CreateBody, 'type'>, MessageBody {
  readonly type: 'record'
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly manifest: EngineCapabilityBody
  /** Hash of the manifest. */
  readonly digest: string
}

type EngineCapabilityMessage = Message<RecordCapabilities>

/** What the idempotency of creates makes of the message. */
function asCreate(message: EngineCapabilityMessage): Message<CreateBody> {
  return { ...message, type: 'create' }
}

function reusesKey({ internal }: EngineCapabilityContext, message: EngineCapabilityMessage): boolean {
  return secondCreate(internal.creation, asCreate(message)) === 'reused'
}

function refusalOf(creation: CreationRecord, message: EngineCapabilityMessage): Refusal {
  return creationRefusal(creation, asCreate(message), { what: 'manifest', isIdFromKey: false })
}

function recorded(
  context: Partial<EngineCapabilityContext>,
  message: EngineCapabilityMessage,
): EngineCapabilityContext {
  const { id, project, project_id, manifest, digest, by, at } = message
  return {
    id,
    project,
    project_id,
    manifest,
    version: (context.version ?? 0) + 1,
    ...(by === undefined ? {} : { recorded_by: by }),
    recorded_at: at,
    created_at: context.created_at ?? at,
    internal: { creation: creationRecord(asCreate(message)), digest },
  }
}

/** What the event tells of a manifest. */
function stated(manifest: EngineCapabilityBody): object {
  const { engine, engine_version, runner_id, supported_entry_events, supported_throttle_modes } = manifest
  const named = runner_id === undefined ? {} : { runner_id }
  return { engine, engine_version, ...named, supported_entry_events, supported_throttle_modes }
}

const record = { target: 'recorded', actions: ['record', 'emitRecorded'] } as const

const engineCapabilityMachine = setup({
  types: { context: {} as EngineCapabilityContext, events: {} as EngineCapabilityMessage, emitted: {} as Fact },
  guards: { hasOwnKey: ({ context, event }) => !reusesKey(context, event) },
  actions: {
    ...declaredActions,
    record: assign(({ context, event }) => recorded(context, event)),
    emitRecorded: emit(({ context: { id, manifest, version } }) => ({
      type: 'engine_capabilities_recorded',
      payload: { engine_capability_id: id, ...stated(manifest), version },
    })),
  },
}).createMachine({
  id: 'engine_capability',
  initial: 'absent',
  context: {} as EngineCapabilityContext,
  states: {
    absent: { on: { record } },
    recorded: { on: { record: { guard: 'hasOwnKey', ...record } } },
  },
})

/** The same manifest again, or the same post. */
function repeats(
  { value, context }: SnapshotOf<EngineCapabilityContext>,
  message: EngineCapabilityMessage,
): string | undefined {
  if (value === 'absent') return undefined
  if (message.digest === context.internal.digest) return 'unchanged'
  return creationRepeat(context.internal.creation, asCreate(message))
}

function refusal(
  { value, context }: SnapshotOf<EngineCapabilityContext>,
  message: EngineCapabilityMessage,
): Refusal | undefined {
  return value === 'absent' ? undefined : refusalOf(context.internal.creation, message)
}

function terms({ context: { project, recorded_at: order } }: SnapshotOf<EngineCapabilityContext>): readonly Term[] {
  return [
    { index: 'all', value: '', order },
    { index: 'project', value: project, order },
  ]
}

/** Whether it still counts, the running service knows. */
function document({ context }: SnapshotOf<EngineCapabilityContext>): Omit<EngineCapability, 'state'> {
  const { id, project, project_id, manifest, version, recorded_by, recorded_at, created_at } = context
  const by = recorded_by === undefined ? {} : { recorded_by: { ...recorded_by } }
  return { id, project, project_id, ...manifest, version, ...by, recorded_at, created_at }
}

const testimony: Testimony<EngineCapabilityContext> = {
  idMember: 'engine_capability_id',
  types: new Set(['engine_capabilities_recorded']),
  aspects: ({ payload }) => (payload.version === 1 ? ['creation', 'state'] : ['state']),
  claims: (aspect, { project, payload: { engine_capability_id: _, ...told } }) =>
    aspect === 'creation' ? { project } : told,
  held: ({ context: { project, manifest, version } }) => ({ project, ...stated(manifest), version }),
  madeAt: ({ created_at }) => created_at,
}

export const engineCapabilityModule: MachineModule<EngineCapabilityContext, RecordCapabilities> = {
  kind: 'engine_capability',
  version: 1,
  machine: engineCapabilityMachine,
  migrations: {},
  internal: [],
  repeats,
  refusal,
  envelope: ({ project }) => projectEnvelope(project),
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document,
}
