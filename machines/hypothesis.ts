/**
 * The hypothesis: open until a person accepts or rejects it, once. Accepting happens here, in one step that also sends
 * the message which makes the record: whatever crashes or races, one acceptance makes one record, and each names the
 * other. If the slug has been given to another record meanwhile, that record says so and the next slug is tried.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { decidedOtherwise, givesOtherReason } from './decision-repeats.ts'
import { HYPOTHESIS_SCHEMA_VERSION, type Hypothesis } from './documents/hypothesis.ts'
import { projectEnvelope } from './envelope.ts'
import type { HypothesisBody, HypothesisContext, HypothesisMessage, Of, RecordAsked } from './hypothesis/context.ts'
import { hypothesisTestimony } from './hypothesis/testimony.ts'
import { recordIdOfSlug } from './ids.ts'
import type { MakeIntentRecord } from './intent-record/context.ts'
import {
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type OwnFact,
  type Refusal,
  type SnapshotOf,
  type Term,
} from './machine.ts'

type Context = HypothesisContext

/** How many discovery ids are remembered, newest last: a second safeguard behind the outbox, which delivers once. */
const DISCOVERIES_KEPT_MAX = 64
/** The longest slug, with room for a suffix. */
const SLUG_STEM_CHARS_MAX = 54
/** How many slugs are tried before one is used that nobody else can have. */
const NUMBERED_TRIES_MAX = 8

function opened(message: Of<'open'>): Context {
  const { id, project, project_id, discovery_id, revision, files, says, at, by } = message
  return {
    id,
    project,
    project_id,
    says,
    discovery_id,
    ...(revision === undefined ? {} : { revision }),
    files,
    sightings: 1,
    ...(by === undefined ? {} : { created_by: by }),
    created_at: at,
    internal: { discoveries: [discovery_id] },
  }
}

function seenAgain({ sightings, internal }: Context, { discovery_id, says, at }: Of<'open'>): Partial<Context> {
  return {
    sightings: sightings + 1,
    last_seen: { discovery_id, confidence: says.confidence, at },
    internal: { ...internal, discoveries: [...internal.discoveries.slice(1 - DISCOVERIES_KEPT_MAX), discovery_id] },
  }
}

/** The slug of the nth try: first as wanted, then numbered, at last with part of the hypothesis' own id. */
export function slugOfTry(wanted: string, tries: number, hypothesisId: string): string {
  if (tries === 0) return wanted
  const stem = wanted.slice(0, SLUG_STEM_CHARS_MAX)
  return `${stem}-${tries < NUMBERED_TRIES_MAX ? tries + 1 : hypothesisId.slice(4, 12)}`
}

function asking({ id, project_id }: Context, record: RecordAsked): Pick<Context, 'intent_record_id'> {
  return { intent_record_id: recordIdOfSlug(project_id, slugOfTry(record.slug, record.tries, id)) }
}

function accepted(context: Context, message: Of<'accept'>): Partial<Context> {
  const { slug, content, edited, reason, fingerprint, by, at } = message
  const record: RecordAsked = { slug, tries: 0, content }
  return {
    ...asking(context, record),
    ...(edited.length === 0 ? {} : { edited }),
    reason,
    decided_by: by,
    decided_at: at,
    internal: { ...context.internal, record, fingerprint },
  }
}

function retried(context: Context): Partial<Context> {
  const { internal } = context
  const record = { ...internal.record!, tries: internal.record!.tries + 1 }
  return { ...asking(context, record), internal: { ...internal, record } }
}

function making(context: Context): MakeIntentRecord & Record<string, unknown> {
  const { id, project, project_id, intent_record_id, internal, decided_by } = context
  const { slug, tries, content } = internal.record!
  return {
    type: 'make',
    ...(decided_by === undefined ? {} : { by: decided_by }),
    id: intent_record_id!,
    project,
    project_id,
    slug: slugOfTry(slug, tries, id),
    content,
    hypothesis_id: id,
  }
}

/** @param discovery_id the discovery whose words opened the hypothesis; for a sighting, the one that saw it again. */
function fact(
  type: string,
  context: Context,
  state: Hypothesis['state'],
  discovery_id: string = context.discovery_id,
): OwnFact {
  const { id, says, intent_record_id, reason } = context
  return {
    type: `hypothesis_${type}`,
    payload: {
      hypothesis_id: id,
      key: says.key,
      state,
      discovery_id,
      ...(intent_record_id === undefined ? {} : { intent_record_id }),
      ...(reason === undefined ? {} : { reason }),
    },
  }
}

const machineSetup = setup({
  types: { context: {} as Context, events: {} as HypothesisMessage, emitted: {} as Fact },
  guards: {
    isItsSlug: ({ context, event }) => {
      const { record } = context.internal
      return (
        record !== undefined && (event as Of<'slug_taken'>).slug === slugOfTry(record.slug, record.tries, context.id)
      )
    },
  },
  actions: {
    ...declaredActions,
    makeRecord: enqueueActions(({ context, enqueue }) => {
      const to = { kind: 'intent_record', id: context.intent_record_id! } as const
      enqueue({ type: 'send', params: { to, message: making(context) } })
    }),
  },
}).extend({
  actions: {
    open: assign(({ event }) => opened(event as Of<'open'>)),
    seeAgain: assign(({ context, event }) => seenAgain(context, event as Of<'open'>)),
    accept: assign(({ context, event }) => accepted(context, event as Of<'accept'>)),
    retry: assign(({ context }) => retried(context)),
    reject: assign(({ event }) => {
      const { reason, by, at } = event as Of<'reject'>
      return { reason, decided_by: by, decided_at: at }
    }),
    emitOpened: emit(({ context }) => fact('opened', context, 'open')),
    emitSeenAgain: emit(({ context }, { state }: { state: Hypothesis['state'] }) =>
      fact('seen_again', context, state, context.last_seen!.discovery_id),
    ),
    emitAccepted: emit(({ context }) => fact('accepted', context, 'accepted')),
    emitRelinked: emit(({ context }) => fact('relinked', context, 'accepted')),
    emitRejected: emit(({ context }) => fact('rejected', context, 'rejected')),
  },
})

const seenAgainIn = (state: Hypothesis['state']) =>
  ({ actions: ['seeAgain', { type: 'emitSeenAgain', params: { state } }] }) as const

export const hypothesisMachine = machineSetup.createMachine({
  id: 'hypothesis',
  initial: 'absent',
  context: {} as Context,
  states: {
    absent: { on: { open: { target: 'open', actions: ['open', 'emitOpened'] } } },
    open: {
      on: {
        open: seenAgainIn('open'),
        accept: { target: 'accepted', actions: ['accept', 'emitAccepted', 'makeRecord'] },
        reject: { target: 'rejected', actions: ['reject', 'emitRejected'] },
      },
    },
    accepted: {
      on: {
        open: seenAgainIn('accepted'),
        slug_taken: { guard: 'isItsSlug', actions: ['retry', 'emitRelinked', 'makeRecord'] },
      },
    },
    rejected: { on: { open: seenAgainIn('rejected') } },
  },
})

function repeats({ value, context }: SnapshotOf<Context>, message: HypothesisMessage): string | undefined {
  if (value === 'absent') return undefined
  const { discoveries, fingerprint } = context.internal
  if (message.type === 'open') return discoveries.includes(message.discovery_id) ? 'already_seen' : undefined
  if (message.type === 'reject') {
    return value === 'rejected' && !givesOtherReason(context.reason, message) ? 'already_rejected' : undefined
  }
  if (message.type !== 'accept' || value !== 'accepted') return undefined
  return message.fingerprint === fingerprint ? 'already_accepted' : undefined
}

function refusal({ value, context }: SnapshotOf<Context>, message: HypothesisMessage): Refusal | undefined {
  if (message.type === 'reject' && value === 'rejected') return decidedOtherwise(value, context.reason)
  if (message.type !== 'accept' || value !== 'accepted') return undefined
  const { decided_by, intent_record_id } = context
  const who = decided_by === undefined ? 'somebody' : decided_by.name
  return { code: 'illegal_move', detail: `it was already accepted differently by ${who}, as ${intent_record_id}` }
}

function envelope({ project }: Context): FactEnvelope {
  return projectEnvelope(project)
}

function terms({ value, context: { project, created_at: order } }: SnapshotOf<Context>): readonly Term[] {
  const listed = [
    { index: 'project', value: project, order },
    { index: 'state', value: `${project}/${value}`, order },
  ]
  return value === 'open' ? [...listed, { index: 'attention', value: 'hypothesis', order }] : listed
}

function document({ value, context }: SnapshotOf<Context>): Hypothesis {
  const { id, says, files, internal: _, reason, decided_by, created_by, edited, ...shown } = context
  return {
    id,
    schema_version: HYPOTHESIS_SCHEMA_VERSION,
    state: value as Hypothesis['state'],
    untrusted: true,
    ...shown,
    ...says,
    ...(files.length === 0 ? {} : { files: [...files] }),
    ...(edited === undefined ? {} : { edited: [...edited] }),
    ...(reason === undefined ? {} : { reason }),
    ...(decided_by === undefined ? {} : { decided_by: { ...decided_by } }),
    ...(created_by === undefined ? {} : { created_by: { ...created_by } }),
  }
}

export const hypothesisModule: MachineModule<Context, HypothesisBody> = {
  kind: 'hypothesis',
  version: 1,
  machine: hypothesisMachine,
  migrations: {},
  internal: ['open', 'slug_taken'],
  repeats,
  refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony: hypothesisTestimony,
  document,
}
