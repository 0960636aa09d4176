/** What an intent record tells the event log. With each version's values, the log holds all that it ever said. */
import type { IntentState } from '../documents/intent-record.ts'
import { severityOf } from '../drift/document.ts'
import type { OwnFact } from '../machine.ts'
import { recordKey } from '../record-key.ts'
import { changedBy, subjectOf, updated as updatedContext, valuesOf } from './changes.ts'
import type { IntentRecordContext, Of, Relationship } from './context.ts'

type Context = IntentRecordContext

/** States that a record is moved to; each has an event type of its own. */
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

/** One fact for each drift status that this step caused or took note of. */
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
