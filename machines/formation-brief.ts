/**
 * The formation brief: the boundary between what a project means and what an engine runs. Its digest is taken
 * over its sections, so that an approval and a run can name exactly this text.
 */
import { createHash } from 'node:crypto'
import { assign, emit, setup } from 'xstate'
import { canonical } from './canonical.ts'
import { type CreateBody, type CreationRecord, creationRecord, creationRefusal, creationRepeat } from './creation.ts'
import {
  FORMATION_BRIEF_SCHEMA_VERSION,
  type FormationBrief,
  type FormationBriefCreate,
} from './documents/formation-brief.ts'
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
import { members, type Testimony } from './testimony.ts'

/** The sections as they were given, with the throttle that holds when none was: what the digest covers. */
type BriefSections = FormationBriefCreate & { readonly throttle: 'full' | 'dry_run' }

interface FormationBriefContext {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  readonly version: number
  readonly digest: string
  readonly sections: BriefSections
  readonly created_by?: By
  readonly created_at: string
  readonly internal: { readonly creation: CreationRecord }
}

interface CreateFormationBrief extends CreateBody {
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly sections: FormationBriefCreate
}

type FormationBriefBody = CreateFormationBrief
type FormationBriefMessage = Message<FormationBriefBody>

/** `sha256:` and the hash of the canonical JSON (RFC 8785) of the sections. */
export function briefDigest(sections: BriefSections): string {
  return `sha256:${createHash('sha256').update(canonical(sections)).digest('hex')}`
}

function created(message: FormationBriefMessage): FormationBriefContext {
  const { id, project, project_id, at, by } = message
  const sections: BriefSections = { ...message.sections, throttle: message.sections.throttle ?? 'dry_run' }
  return {
    id,
    project,
    project_id,
    version: 1,
    digest: briefDigest(sections),
    sections,
    ...(by === undefined ? {} : { created_by: by }),
    created_at: at,
    internal: { creation: creationRecord(message) },
  }
}

const machineSetup = setup({
  types: { context: {} as FormationBriefContext, events: {} as FormationBriefMessage, emitted: {} as Fact },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => created(event)),
    emitCreated: emit(({ context: { id, version, digest, sections } }) => ({
      type: 'formation_brief_created',
      payload: { digest, formation_brief_id: id, state: 'draft', throttle: sections.throttle, version },
    })),
  },
})

const formationBriefMachine = machineSetup.createMachine({
  id: 'formation_brief',
  initial: 'absent',
  context: {} as FormationBriefContext,
  states: {
    absent: {
      on: { create: { target: 'draft', actions: ['create', 'emitCreated'] } },
    },
    draft: {},
  },
})

function repeats({ value, context }: SnapshotOf<FormationBriefContext>, message: FormationBriefMessage) {
  return value === 'absent' ? undefined : creationRepeat(context.internal.creation, message)
}

function refusal(
  { value, context }: SnapshotOf<FormationBriefContext>,
  message: FormationBriefMessage,
): Refusal | undefined {
  if (value === 'absent') return undefined
  return creationRefusal(context.internal.creation, message, { what: 'formation brief', isIdFromKey: true })
}

function envelope({ project, sections }: FormationBriefContext): FactEnvelope {
  const none = { trace_id: null, span_id: null, parent_span_id: null, causation_id: null, gather_id: null }
  return { project, throttle: sections.throttle, ...none }
}

function terms({ context }: SnapshotOf<FormationBriefContext>): readonly Term[] {
  return [{ index: 'project', value: context.project, order: context.created_at }]
}

function document({ value, context }: SnapshotOf<FormationBriefContext>): FormationBrief {
  const { id, project, project_id, version, digest, sections, created_by, created_at } = context
  return {
    id,
    schema_version: FORMATION_BRIEF_SCHEMA_VERSION,
    project,
    project_id,
    state: value as FormationBrief['state'],
    version,
    digest,
    ...sections,
    ...(created_by === undefined ? {} : { created_by: { ...created_by } }),
    created_at,
  }
}

const testimony: Testimony<FormationBriefContext> = {
  idMember: 'formation_brief_id',
  types: new Set(['formation_brief_created']),
  aspects: () => ['creation', 'state'],
  claims: (aspect, { project, payload }) =>
    aspect === 'state' ? members(payload, 'state', 'version', 'digest') : { project, throttle: payload.throttle },
  held: ({ value, context }) => ({
    state: value,
    ...members(context, 'project', 'version', 'digest'),
    throttle: context.sections.throttle,
  }),
  madeAt: ({ created_at }) => created_at,
}

export const formationBriefModule: MachineModule<FormationBriefContext, FormationBriefBody> = {
  kind: 'formation_brief',
  version: 1,
  machine: formationBriefMachine,
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
