/**
 * The discovery: one inspection, recorded in one step and never changed. The hypotheses drawn from it are opened by
 * message, each in an actor of its own. Without an idempotency key, posting the same inspection again yields the same
 * discovery.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import {
  DISCOVERY_SCHEMA_VERSION,
  type Discovery,
  type DiscoveryCreate,
  type DiscoverySummary,
  type HypothesisDrawn,
} from './documents/discovery.ts'
import { projectEnvelope } from './envelope.ts'
import type { OpenHypothesis } from './hypothesis/context.ts'
import {
  type By,
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Message,
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
} from './repeated-create.ts'
import { members, type Testimony } from './testimony.ts'

/** A hypothesis with the key and the id that the edge gave it. */
type Drawn = HypothesisDrawn & { readonly key: string; readonly hypothesis_id: string }

interface DiscoveryContext {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  readonly source?: DiscoveryCreate['source']
  readonly repository?: DiscoveryCreate['repository']
  readonly observations: DiscoveryCreate['observations']
  readonly hypotheses: readonly Drawn[]
  readonly created_by?: By
  readonly created_at: string
  readonly internal: { readonly creation: CreationRecord; readonly fingerprint: string }
}

interface CreateDiscovery extends CreateBody, Omit<DiscoveryCreate, 'hypotheses'> {
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly hypotheses: readonly Drawn[]
  readonly fingerprint: string
}

export type DiscoveryBody = CreateDiscovery
type DiscoveryMessage = Message<DiscoveryBody>

/** How many files are named with one hypothesis: enough to go and look. */
const FILES_NAMED_MAX = 64

function created(message: DiscoveryMessage): DiscoveryContext {
  const { id, project, project_id, source, repository, observations, hypotheses, at, by, fingerprint } = message
  return {
    id,
    project,
    project_id,
    ...(source === undefined ? {} : { source }),
    ...(repository === undefined ? {} : { repository }),
    observations,
    hypotheses,
    ...(by === undefined ? {} : { created_by: by }),
    created_at: at,
    internal: { creation: creationRecord(message), fingerprint },
  }
}

function filesOf({ observations }: DiscoveryContext, { based_on }: Drawn): string[] {
  const refs = new Set(based_on)
  const files = observations.filter(({ ref }) => refs.has(ref)).flatMap(({ files = [] }) => files)
  return [...new Set(files)].slice(0, FILES_NAMED_MAX)
}

function opening(
  context: DiscoveryContext,
  drawn: Drawn,
  by: By | undefined,
): OpenHypothesis & Record<string, unknown> {
  const { id, project, project_id, repository } = context
  const { hypothesis_id, ...says } = drawn
  return {
    type: 'open',
    ...(by === undefined ? {} : { by }),
    id: hypothesis_id,
    project,
    project_id,
    discovery_id: id,
    ...(repository?.revision === undefined ? {} : { revision: repository.revision }),
    files: filesOf(context, drawn),
    says,
  }
}

const machineSetup = setup({
  types: { context: {} as DiscoveryContext, events: {} as DiscoveryMessage, emitted: {} as Fact },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => created(event)),
    emitRecorded: emit(({ context: { id, repository, observations, hypotheses } }) => ({
      type: 'discovery_recorded',
      payload: {
        discovery_id: id,
        hypothesis_ids: hypotheses.map(({ hypothesis_id }) => hypothesis_id),
        observations: observations.length,
        ...(repository?.revision === undefined ? {} : { revision: repository.revision }),
      },
    })),
    openHypotheses: enqueueActions(({ context, event, enqueue }) => {
      for (const drawn of context.hypotheses) {
        const to = { kind: 'hypothesis', id: drawn.hypothesis_id } as const
        enqueue({ type: 'send', params: { to, message: opening(context, drawn, event.by) } })
      }
    }),
  },
})

const discoveryMachine = machineSetup.createMachine({
  id: 'discovery',
  initial: 'absent',
  context: {} as DiscoveryContext,
  states: {
    absent: { on: { create: { target: 'recorded', actions: ['create', 'emitRecorded', 'openHypotheses'] } } },
    recorded: {},
  },
})

function repeats({ value, context }: SnapshotOf<DiscoveryContext>, message: DiscoveryMessage): string | undefined {
  if (value === 'absent') return undefined
  const { creation, fingerprint } = context.internal
  // Without a key the id derives from the content, so a second post with that id has the same content.
  if (message.idempotency_key === undefined && creation.key === undefined && message.fingerprint === fingerprint) {
    return 'replay'
  }
  return creationRepeat(creation, message)
}

function refusal({ value, context }: SnapshotOf<DiscoveryContext>, message: DiscoveryMessage): Refusal | undefined {
  if (value === 'absent') return undefined
  return creationRefusal(context.internal.creation, message, { what: 'discovery', isIdFromKey: true })
}

function envelope({ project }: DiscoveryContext): FactEnvelope {
  return projectEnvelope(project)
}

function terms({ context: { project, created_at: order } }: SnapshotOf<DiscoveryContext>): readonly Term[] {
  return [{ index: 'project', value: project, order }]
}

function document({ context }: SnapshotOf<DiscoveryContext>): Discovery {
  const { internal: _, id, hypotheses, created_by, ...said } = context
  return {
    id,
    schema_version: DISCOVERY_SCHEMA_VERSION,
    untrusted: true,
    ...said,
    hypotheses: hypotheses.map(({ hypothesis_id, ...says }) => ({ hypothesis_id, ...says })),
    ...(created_by === undefined ? {} : { created_by: { ...created_by } }),
  } as Discovery
}

/** The discovery as lists show it. */
export function discoverySummary({ context }: SnapshotOf<DiscoveryContext>): DiscoverySummary {
  const { id, project, source, repository, observations, hypotheses, created_by, created_at } = context
  return {
    id,
    project,
    untrusted: true,
    ...(source === undefined ? {} : { source }),
    ...(repository === undefined ? {} : { repository }),
    observation_count: observations.length,
    hypothesis_ids: hypotheses.map(({ hypothesis_id }) => hypothesis_id),
    ...(created_by === undefined ? {} : { created_by: { ...created_by } }),
    created_at,
  }
}

const testimony: Testimony<DiscoveryContext> = {
  idMember: 'discovery_id',
  types: new Set(['discovery_recorded']),
  aspects: () => ['creation'],
  claims: (_, { project, payload }) => ({ project, ...members(payload, 'hypothesis_ids', 'observations') }),
  held: ({ context: { project, hypotheses, observations } }) => ({
    project,
    hypothesis_ids: hypotheses.map(({ hypothesis_id }) => hypothesis_id),
    observations: observations.length,
  }),
  madeAt: ({ created_at }) => created_at,
}

export const discoveryModule: MachineModule<DiscoveryContext, DiscoveryBody> = {
  kind: 'discovery',
  version: 1,
  machine: discoveryMachine,
  migrations: {},
  internal: [],
  repeats,
  refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document,
}
