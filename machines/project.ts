/**
 * The project: a name that events carry, and the actor that records events belonging to no other. Its key never
 * changes, and an archived project takes no new work.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { changed } from './changed.ts'
import { type Charter, type Project, WRITERS_DEFAULT } from './documents/project.ts'
import { projectEnvelope } from './envelope.ts'
import type { PreparedEvent } from './events/envelope.ts'
import {
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Message,
  type MessageBody,
  type Refusal,
  type SendParams,
  type SnapshotOf,
  type Term,
  UNCHANGED,
} from './machine.ts'
import {
  type CreateBody,
  type CreationRecord,
  creationRecord,
  creationRefusal,
  creationRepeat,
} from './repeated-create.ts'
import { members, type Testimony } from './testimony.ts'

interface ProjectContext {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly repository?: string | undefined
  /** Absent: the default. */
  readonly max_writers?: number
  readonly charter?: Charter
  readonly created_at: string
  readonly updated_at?: string
  readonly archived_at?: string | undefined
  readonly internal: { readonly creation: CreationRecord }
}

interface CreateProject extends CreateBody {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly repository?: string
  readonly max_writers?: number
}

/** Omitted members stay as they are; `repository: null` removes it. */
interface UpdateProject extends MessageBody {
  readonly type: 'update'
  readonly name?: string
  readonly repository?: string | null
  readonly max_writers?: number
  readonly archived?: boolean
}

interface ArchiveProject extends MessageBody {
  readonly type: 'archive'
}

interface UnarchiveProject extends MessageBody {
  readonly type: 'unarchive'
}

/** Replaces the whole charter. */
interface SetCharter extends MessageBody {
  readonly type: 'set_charter'
  readonly charter: Charter
}

/** What an emitted request asks of the campaign or initiative that it names. */
export type EmittedAdvance<K extends 'campaign' | 'initiative' = 'campaign' | 'initiative'> = SendParams<K> & {
  readonly message: { readonly type: 'advance'; readonly event_id: string }
}

/** Events that belong to no other actor, and what emitted commands among them ask for. */
interface RecordEvents extends MessageBody {
  readonly type: 'record'
  readonly events: readonly PreparedEvent[]
  /** Each creates a run request whose id derives from the event, or finds the one created before. */
  readonly commands?: readonly SendParams[]
  /** Each is sent with its event, once: if the log already holds the event, it was sent before. */
  readonly advances?: readonly EmittedAdvance[]
  /** Messages to the actors that the events are about; sent even if the project is archived. */
  readonly news?: readonly SendParams[]
}

export type ProjectBody = CreateProject | UpdateProject | ArchiveProject | UnarchiveProject | SetCharter | RecordEvents
type ProjectMessage = Message<ProjectBody>
type Of<T extends ProjectBody['type']> = Message<Extract<ProjectBody, { type: T }>>
type Change = Partial<ProjectContext>

function writersOf({ max_writers = WRITERS_DEFAULT }: ProjectContext): number {
  return max_writers
}

function changeOf(context: ProjectContext, message: Of<'update'>): Change {
  const { name, repository, max_writers } = message
  const next: Change = {
    ...(name === undefined ? {} : { name }),
    ...(repository === undefined ? {} : { repository: repository ?? undefined }),
    ...(max_writers === undefined || max_writers === writersOf(context) ? {} : { max_writers }),
  }
  const names = changed(context, next)
  return Object.fromEntries(Object.entries(next).filter(([member]) => names.includes(member)))
}

function isChange(context: ProjectContext, message: Of<'update'>): boolean {
  return Object.keys(changeOf(context, message)).length > 0
}

/** What its events say of it, besides its state. */
function factOf({ id, key, name, repository, max_writers }: ProjectContext) {
  return {
    key,
    name,
    project_id: id,
    ...(repository === undefined ? {} : { repository }),
    ...(max_writers === undefined ? {} : { max_writers }),
  }
}

/** Names of the changed members; the values are in the document. */
function updated(context: ProjectContext, state: string, names: readonly string[]): Fact {
  return { type: 'project_updated', payload: { changed: names, ...factOf(context), state } }
}

const machineSetup = setup({
  types: { context: {} as ProjectContext, events: {} as ProjectMessage, emitted: {} as Fact },
  guards: {
    changes: ({ context, event }) => isChange(context, event as Of<'update'>),
    archives: ({ event }) => (event as Of<'update'>).archived === true,
    unarchives: ({ event }) => (event as Of<'update'>).archived === false,
    recordsOnly: ({ event }) => {
      const { commands = [], advances = [] } = event as Of<'record'>
      return commands.length + advances.length === 0
    },
  },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => {
      const { id, key, name, repository, max_writers, at, ...rest } = event as Of<'create'>
      const internal = { creation: creationRecord({ ...rest, at }) }
      return {
        id,
        key,
        name,
        ...(repository === undefined ? {} : { repository }),
        ...(max_writers === undefined || max_writers === WRITERS_DEFAULT ? {} : { max_writers }),
        created_at: at,
        internal,
      }
    }),
    change: assign(({ context, event }) => ({ ...changeOf(context, event as Of<'update'>), updated_at: event.at })),
    archive: assign(({ event }) => ({ archived_at: event.at, updated_at: event.at })),
    unarchive: assign(({ event }) => ({ archived_at: undefined, updated_at: event.at })),
    setCharter: assign(({ event }) => ({ charter: (event as Of<'set_charter'>).charter, updated_at: event.at })),
    touch: assign(() => UNCHANGED),

    emitCreated: emit(({ context }) => ({
      type: 'project_created',
      payload: { ...factOf(context), state: 'active' },
    })),
    /** Runs before the change that it reports. */
    emitChanged: emit(({ context, event }) => {
      const change = changeOf(context, event as Of<'update'>)
      return updated({ ...context, ...change }, 'active', Object.keys(change))
    }),
    emitArchived: emit(({ context, event }) => {
      const change = event.type === 'update' ? changeOf(context, event) : {}
      return updated({ ...context, ...change }, 'archived', [...Object.keys(change), 'archived'])
    }),
    emitUnarchived: emit(({ context, event }) => {
      const change = event.type === 'update' ? changeOf(context, event) : {}
      return updated({ ...context, ...change }, 'active', [...Object.keys(change), 'archived'])
    }),
    emitCharterSet: emit(({ context }) => updated(context, 'active', ['charter'])),
    emitRecorded: enqueueActions(({ event, enqueue }) => {
      const { events, commands = [], advances = [], news = [] } = event as Of<'record'>
      for (const prepared of events) enqueue.emit({ type: prepared.event_type, recorded: prepared })
      const ids = new Set(events.map(({ id }) => id))
      const asked = advances.filter(({ message: { event_id } }) => ids.has(event_id))
      for (const params of [...asked, ...commands, ...news]) enqueue({ type: 'send', params })
    }),
  },
})

const projectMachine = machineSetup.createMachine({
  id: 'project',
  initial: 'absent',
  context: {} as ProjectContext,
  states: {
    absent: {
      on: { create: { target: 'active', actions: ['create', 'emitCreated'] } },
    },
    active: {
      on: {
        update: [
          { guard: 'archives', target: 'archived', actions: ['emitArchived', 'change', 'archive'] },
          { guard: 'changes', actions: ['emitChanged', 'change'] },
        ],
        archive: { target: 'archived', actions: ['emitArchived', 'archive'] },
        set_charter: { actions: ['setCharter', 'emitCharterSet'] },
        record: { actions: ['touch', 'emitRecorded'] },
      },
    },
    archived: {
      on: {
        update: { guard: 'unarchives', target: 'active', actions: ['emitUnarchived', 'change', 'unarchive'] },
        unarchive: { target: 'active', actions: ['emitUnarchived', 'unarchive'] },
        record: { guard: 'recordsOnly', actions: ['touch', 'emitRecorded'] },
      },
    },
  },
})

function says({ charter = {} }: ProjectContext, other: Charter): boolean {
  return changed({ charter }, { charter: other }).length === 0
}

/** A word for a message that repeats one taken before and would change nothing. */
function repeats({ value, context }: SnapshotOf<ProjectContext>, message: ProjectMessage): string | undefined {
  if (value === 'absent') return undefined
  if (message.type === 'create') return creationRepeat(context.internal.creation, message)
  const isArchived = value === 'archived'
  if (message.type === 'archive') return isArchived ? 'already_archived' : undefined
  if (message.type === 'unarchive') return isArchived ? undefined : 'already_active'
  if (message.type === 'set_charter') return says(context, message.charter) ? 'unchanged' : undefined
  if (message.type !== 'update' || isChange(context, message)) return undefined
  return (message.archived ?? isArchived) === isArchived ? 'unchanged' : undefined
}

function refusal({ value, context }: SnapshotOf<ProjectContext>, message: ProjectMessage): Refusal | undefined {
  if (value === 'absent') return undefined
  if (message.type === 'create') {
    return creationRefusal(context.internal.creation, message, { what: 'project', isIdFromKey: false })
  }
  return value === 'archived'
    ? { code: 'project_archived', detail: `the project ${context.key} is archived` }
    : undefined
}

function envelope({ key }: ProjectContext): FactEnvelope {
  return projectEnvelope(key)
}

function terms({ value, context }: SnapshotOf<ProjectContext>): readonly Term[] {
  const { created_at: order } = context
  const rows: Term[] = [
    { index: 'all', value: '', order },
    { index: 'state', value, order },
  ]
  if (writersOf(context) > WRITERS_DEFAULT) rows.push({ index: 'writers', value: 'several', order })
  return rows
}

function document({ value, context }: SnapshotOf<ProjectContext>): Project {
  const { id, key, name, repository, created_at, updated_at, archived_at } = context
  return {
    id,
    key,
    name,
    ...(repository === undefined ? {} : { repository }),
    max_writers: writersOf(context),
    state: value as Project['state'],
    created_at,
    ...(updated_at === undefined ? {} : { updated_at }),
    ...(archived_at === undefined ? {} : { archived_at }),
  }
}

const testimony: Testimony<ProjectContext> = {
  idMember: 'project_id',
  types: new Set(['project_created', 'project_updated']),
  aspects: ({ event_type }) => (event_type === 'project_created' ? ['creation', 'state'] : ['state']),
  claims: (aspect, { project, payload }) =>
    aspect === 'creation' ? { key: project } : members(payload, 'state', 'key', 'name', 'repository', 'max_writers'),
  held: ({ value, context }) => ({ state: value, ...members(context, 'key', 'name', 'repository', 'max_writers') }),
  madeAt: ({ created_at }) => created_at,
}

export const projectModule: MachineModule<ProjectContext, ProjectBody> = {
  kind: 'project',
  version: 2,
  machine: projectMachine,
  migrations: { 1: (snapshot) => snapshot },
  internal: ['record'],
  repeats,
  refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document,
}
