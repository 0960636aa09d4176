/** What an intent record's events assert. */
import { members, type Testimony } from '../testimony.ts'
import type { IntentRecordContext } from './context.ts'

/** Its state and content, and the status of its drift. */
export const intentRecordTestimony: Testimony<IntentRecordContext> = {
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
    // A record that no longer guides runs has no drift.
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

/** The values that an event gives, prefixed so that their names collide with no other claim. */
function saidIn({ values = {} }: { readonly values?: Readonly<Record<string, unknown>> }): Record<string, unknown> {
  const claimed = Object.entries(values).map(([name, value]) => [name, value ?? undefined])
  return prefixed(Object.fromEntries(claimed))
}

function prefixed(content: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(content).map(([name, value]) => [`says ${name}`, value]))
}
