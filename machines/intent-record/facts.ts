/** What an intent record tells the event log. With the values of each version, the log holds all that a record ever said. */
import type { IntentState } from '../documents/intent-record.ts'
import { severityOf } from '../drift/document.ts'
import type { OwnFact } from '../machine.ts'
import { recordKey } from '../record-key.ts'
import { members, type Testimony } from '../testimony.ts'
import { changedBy, subjectOf, updated as updatedContext, valuesOf } from './changes.ts'
import type { IntentRecordContext, Of, Relationship } from './context.ts'

type Context = IntentRecordContext

/** States that a record is moved to; each has a type of event of its own. */
export type Reached = Exclude<IntentState, 'hypothesized' | 'proposed'>

function identity({ id, project, slug, version }: Context, state: IntentState) {
  return { intent_record_id: id, key: recordKey(project, slug), state, version }
}

export function created(context: Context, state: IntentState): OwnFact {
  const { slug, content, hypothesis_id } = context
  return {
    type: 'intent_record_created',
    payload: {
      ...identity(context, state),
      slug,
      title: content.title,
      ...(hypothesis_id === undefined ? {} : { hypothesis_id }),
      values: { ...content },
    },
  }
}

export function moved(context: Context, state: Reached): OwnFact {
  const { reason, superseded_by } = context
  return {
    type: `intent_record_${state === 'active' ? 'activated' : state}`,
    payload: {
      ...identity(context, state),
      ...(superseded_by === undefined ? {} : { superseded_by }),
      ...(reason === undefined ? {} : { reason }),
    },
  }
}

export function updated(context: Context, message: Of<'update'>, state: IntentState): OwnFact {
  const names = changedBy(context, message)
  const next = { ...context, ...updatedContext(context, message) }
  return {
    type: 'intent_record_updated',
    payload: { ...identity(next, state), changed: names, values: valuesOf(next.content, names) },
  }
}

export function related(context: Context, { relation, to, notes }: Of<'relate'>, state: IntentState): OwnFact {
  const payload = { ...identity(context, state), relationship: relation, to, ...(notes === undefined ? {} : { notes }) }
  return { type: 'intent_record_related', payload }
}

export function unrelated(context: Context, { type, to }: Relationship, state: IntentState): OwnFact {
  return { type: 'intent_record_unrelated', payload: { ...identity(context, state), relationship: type, to } }
}

export function tookPlace(context: Context, of: string, state: IntentState): OwnFact {
  return { type: 'intent_record_related', payload: { ...identity(context, state), relationship: 'supersedes', to: of } }
}

export function classified(context: Context, message: Of<'classify'>): OwnFact {
  const { classification, reason, review_at } = message
  return {
    type: 'drift_classified',
    payload: {
      intent_record_id: context.id,
      key: recordKey(context.project, context.slug),
      classification,
      drift_status: context.drift_history.at(-1)!.status,
      ...(reason === undefined ? {} : { reason }),
      ...(review_at === undefined ? {} : { review_at }),
    },
  }
}

/** Each status that the step at this moment brought about, or took note of. */
export function driftChanged(context: Context, at: string, state: IntentState): OwnFact[] {
  return context.drift_history.flatMap((change) => {
    if (change.at !== at || change.kind !== 'status') return []
    const { status, previous_status, since, cause, observation_id } = change
    const severity = severityOf(status, subjectOf(context))
    const payload = {
      ...identity(context, state),
      drift_status: status,
      ...(previous_status === undefined ? {} : { previous_drift_status: previous_status }),
      ...(severity === undefined ? {} : { severity }),
      since,
      cause,
      ...(observation_id === undefined ? {} : { observation_id }),
    }
    return [{ type: 'intent_record_drift_changed', payload }]
  })
}

/** What the facts above assert: the state and what the record says, and the word for its drift. */
export const testimony: Testimony<Context> = {
  idMember: 'intent_record_id',
  types: new Set([
    ...['created', 'updated', 'accepted', 'activated', 'deprecated', 'contradicted', 'superseded'].map(named),
    ...['related', 'unrelated', 'drift_changed'].map(named),
    'drift_classified',
  ]),
  aspects: ({ event_type }) => {
    if (event_type === 'drift_classified') return []
    if (event_type === 'intent_record_created') return ['creation', 'state']
    if (event_type === 'intent_record_drift_changed') return ['terms']
    // A record that guides runs no more has no drift.
    return ENDINGS.has(event_type) ? ['state', 'terms'] : ['state']
  },
  claims: (aspect, { event_type, project, payload }) => {
    if (aspect === 'creation') return { project, ...members(payload, 'slug', 'hypothesis_id') }
    if (aspect === 'terms') return members(payload, 'drift_status')
    const superseded = event_type === 'intent_record_superseded' ? members(payload, 'superseded_by') : {}
    return { ...members(payload, 'state', 'version'), ...superseded, ...saidIn(payload) }
  },
  held: ({ value, context }) => {
    const { content, drift } = context
    const held = members(context, 'project', 'slug', 'hypothesis_id', 'version', 'superseded_by')
    return { state: value, ...held, drift_status: drift.status, ...prefixed(content) }
  },
  madeAt: ({ created_at }) => created_at,
}

const ENDINGS: ReadonlySet<string> = new Set(['deprecated', 'contradicted', 'superseded'].map(named))

function named(type: string): string {
  return `intent_record_${type}`
}

/** The values that an event gives, under names that nothing else has. */
function saidIn({ values = {} }: { readonly values?: Readonly<Record<string, unknown>> }): Record<string, unknown> {
  const claimed = Object.entries(values).map(([name, value]) => [name, value ?? undefined])
  return prefixed(Object.fromEntries(claimed))
}

function prefixed(content: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(content).map(([name, value]) => [`says ${name}`, value]))
}
