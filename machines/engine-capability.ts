/**
 * An engine's capabilities in one project: one actor per runner or engine name, holding the newest manifest until it is
 * withdrawn. Older manifests are in the log.
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
  classifyCreate,
  creationRecord,
  creationRefusal,
  creationRepeat,
} from './repeated-create.ts'
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

interface RemoveCapabilities extends MessageBody {
  readonly type: 'remove'
}

export type EngineCapabilityMessageBody = RecordCapabilities | RemoveCapabilities
type EngineCapabilityMessage = Message<EngineCapabilityMessageBody>
type Recorded = Message<RecordCapabilities>

/** The message as a create, for the rules of idempotency. */
function asCreate(message: Recorded): Message<CreateBody> {
  return { ...message, type: 'create' }
}

function reusesKey({ internal }: EngineCapabilityContext, message: Recorded): boolean {
  return classifyCreate(internal.creation, asCreate(message)) === 'reused'
}

function refusalOf(creation: CreationRecord, message: Recorded): Refusal {
  return creationRefusal(creation, asCreate(message), { what: 'manifest', isIdFromKey: false })
}

function recorded(context: Partial<EngineCapabilityContext>, message: Recorded): EngineCapabilityContext {
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

/** The manifest's members that events carry. */
function stated(manifest: EngineCapabilityBody): object {
  const { engine, engine_version, runner_id, supported_entry_events, supported_throttle_modes } = manifest
  const named = runner_id === undefined ? {} : { runner_id }
  return { engine, engine_version, ...named, supported_entry_events, supported_throttle_modes }
}

const REMOVED = 'engine_capabilities_removed'

/** Both event types carry all of them: the manifest that applies from now on, or no longer applies. */
function told(type: string, { id, manifest, version }: EngineCapabilityContext): Fact {
  return { type, payload: { engine_capability_id: id, ...stated(manifest), version } }
}

const record = { target: 'recorded', actions: ['record', 'emitRecorded'] } as const

const engineCapabilityMachine = setup({
  types: { context: {} as EngineCapabilityContext, events: {} as EngineCapabilityMessage, emitted: {} as Fact },
  guards: { hasOwnKey: ({ context, event }) => !reusesKey(context, event as Recorded) },
  actions: {
    ...declaredActions,
    record: assign(({ context, event }) => recorded(context, event as Recorded)),
    emitRecorded: emit(({ context }) => told('engine_capabilities_recorded', context)),
    emitRemoved: emit(({ context }) => told(REMOVED, context)),
  },
}).createMachine({
  id: 'engine_capability',
  initial: 'absent',
  context: {} as EngineCapabilityContext,
  states: {
    absent: { on: { record } },
    recorded: {
      on: {
        record: { guard: 'hasOwnKey', ...record },
        remove: { target: 'removed', actions: 'emitRemoved' },
      },
    },
    removed: { on: { record: { guard: 'hasOwnKey', ...record } } },
  },
})

/** A word for the same manifest, the same post, or the same removal again; undefined otherwise. */
function repeats(
  { value, context }: SnapshotOf<EngineCapabilityContext>,
  message: EngineCapabilityMessage,
): string | undefined {
  if (value === 'absent') return undefined
  if (message.type === 'remove') return value === 'removed' ? 'already_removed' : undefined
  if (value === 'recorded' && message.digest === context.internal.digest) return 'unchanged'
  return creationRepeat(context.internal.creation, asCreate(message))
}

function refusal(
  { value, context }: SnapshotOf<EngineCapabilityContext>,
  message: EngineCapabilityMessage,
): Refusal | undefined {
  if (value === 'absent' || message.type === 'remove') return undefined
  return refusalOf(context.internal.creation, message)
}

function terms({ value, context }: SnapshotOf<EngineCapabilityContext>): readonly Term[] {
  const { project, recorded_at: order } = context
  // A withdrawn manifest is in no list; its events remain in the log.
  if (value === 'removed') return []
  return [
    { index: 'all', value: '', order },
    { index: 'project', value: project, order },
  ]
}

/** Without `state`: only the running service knows whether the manifest still applies. */
function document({ context }: SnapshotOf<EngineCapabilityContext>): Omit<EngineCapability, 'state'> {
  const { id, project, project_id, manifest, version, recorded_by, recorded_at, created_at } = context
  const by = recorded_by === undefined ? {} : { recorded_by: { ...recorded_by } }
  return { id, project, project_id, ...manifest, version, ...by, recorded_at, created_at }
}

const testimony: Testimony<EngineCapabilityContext> = {
  idMember: 'engine_capability_id',
  types: new Set(['engine_capabilities_recorded', REMOVED]),
  aspects: ({ event_type, payload }) =>
    event_type !== REMOVED && payload.version === 1 ? ['creation', 'state'] : ['state'],
  claims: (aspect, { event_type, project, payload: { engine_capability_id: _, ...told } }) =>
    aspect === 'creation' ? { project } : { ...told, removed: event_type === REMOVED },
  held: ({ value, context: { project, manifest, version } }) => {
    return { project, ...stated(manifest), version, removed: value === 'removed' }
  },
  madeAt: ({ created_at }) => created_at,
}

export const engineCapabilityModule: MachineModule<EngineCapabilityContext, EngineCapabilityMessageBody> = {
  kind: 'engine_capability',
  version: 2,
  machine: engineCapabilityMachine,
  migrations: {
    // 2: may be withdrawn.
    1: (snapshot) => snapshot,
  },
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
