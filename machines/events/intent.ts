/** What the service states of the meaning it keeps: intent records, hypotheses, discoveries and drift. */
import { count, openObject, stringEnum, Type } from '../schema.ts'
import { serviceEvent } from './event-type.ts'

const text = Type.Optional(Type.String())
const changed = Type.Optional(Type.Array(Type.String(), { description: 'names of the members that changed' }))

const record = openObject({
  intent_record_id: Type.String(),
  state: stringEnum(['hypothesized', 'proposed', 'accepted', 'active', 'deprecated', 'contradicted', 'superseded']),
  version: Type.Optional(count()),
  slug: text,
  title: text,
  superseded_by: text,
  relationship: text,
  reason: text,
  changed,
})

const hypothesis = openObject({
  hypothesis_id: Type.String(),
  state: stringEnum(['open', 'accepted', 'rejected']),
  discovery_id: text,
  intent_record_id: text,
  reason: text,
})

export const intentEvents = {
  intent_record_created: serviceEvent('own', 'an intent record was made', record),
  intent_record_updated: serviceEvent('own', 'a new version of an intent record was made', record),
  intent_record_accepted: serviceEvent('own', 'a person accepted an intent record', record),
  intent_record_activated: serviceEvent('own', 'an intent record guides runs', record),
  intent_record_deprecated: serviceEvent('own', 'an intent record guides runs no longer', record),
  intent_record_contradicted: serviceEvent('own', 'an intent record was found not to be so', record),
  intent_record_superseded: serviceEvent('own', 'another record took the place of an intent record', record),
  intent_record_related: serviceEvent('own', 'a relationship between two intent records was recorded', record),
  hypothesis_opened: serviceEvent('own', 'a discovery led to a hypothesis', hypothesis),
  hypothesis_accepted: serviceEvent('own', 'a person accepted a hypothesis', hypothesis),
  hypothesis_rejected: serviceEvent('own', 'a person rejected a hypothesis', hypothesis),
  discovery_recorded: serviceEvent(
    'own',
    'a read-only inspection of a repository was recorded',
    openObject({ discovery_id: Type.String(), hypothesis_ids: Type.Optional(Type.Array(Type.String())) }),
  ),
  drift_classified: serviceEvent(
    'own',
    'a person said what a drift is',
    openObject({ intent_record_id: Type.String(), classification: Type.String(), reason: text }),
  ),
}
