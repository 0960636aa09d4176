/** What the service states about the intent it keeps: intent records, hypotheses, discoveries and drift. */
import { DRIFT_SEVERITIES, DRIFT_STATUSES } from '../documents/drift.ts'
import { HYPOTHESIS_STATES } from '../documents/hypothesis.ts'
import { INTENT_STATES } from '../documents/intent-record.ts'
import { anyObject, count, openObject, stringEnum, Type, timestamp } from '../schema.ts'
import { serviceEvent } from './event-type.ts'

const text = Type.Optional(Type.String())
const changed = Type.Optional(Type.Array(Type.String(), { description: 'names of the members that changed' }))

const record = openObject({
  intent_record_id: Type.String(),
  state: stringEnum(INTENT_STATES),
  version: Type.Optional(count()),
  key: text,
  slug: text,
  title: text,
  hypothesis_id: text,
  superseded_by: text,
  relationship: text,
  to: Type.Optional(Type.String({ description: 'the other record of the relationship' })),
  notes: text,
  reason: text,
  changed,
  values: Type.Optional(anyObject('the record’s content from then on: all of it, or the members that changed')),
})

const driftStatus = stringEnum(DRIFT_STATUSES)

const drift = openObject({
  intent_record_id: Type.String(),
  state: stringEnum(INTENT_STATES),
  version: Type.Optional(count()),
  key: text,
  drift_status: Type.Optional(driftStatus),
  previous_drift_status: Type.Optional(driftStatus),
  severity: Type.Optional(stringEnum(DRIFT_SEVERITIES)),
  since: Type.Optional(timestamp()),
  cause: text,
  observation_id: text,
})

const hypothesis = openObject({
  hypothesis_id: Type.String(),
  key: text,
  state: stringEnum(HYPOTHESIS_STATES),
  discovery_id: Type.Optional(
    Type.String({ description: 'the discovery that opened it; in `hypothesis_seen_again` the one that saw it again' }),
  ),
  intent_record_id: text,
  reason: text,
})

export const intentEvents = {
  intent_record_created: serviceEvent('own', 'an intent record was created', record),
  intent_record_updated: serviceEvent('own', 'an intent record was changed: a new version', record),
  intent_record_accepted: serviceEvent('own', 'a person accepted an intent record', record),
  intent_record_activated: serviceEvent('own', 'an intent record guides runs', record),
  intent_record_deprecated: serviceEvent('own', 'an intent record no longer guides runs', record),
  intent_record_contradicted: serviceEvent('own', 'an intent record was found not to be true', record),
  intent_record_superseded: serviceEvent('own', 'an intent record was superseded', record),
  intent_record_related: serviceEvent('own', 'a relationship between two intent records was recorded', record),
  intent_record_unrelated: serviceEvent('own', 'a relationship between two intent records was removed', record),
  intent_record_drift_changed: serviceEvent('own', 'the drift status of an intent record changed', drift),
  hypothesis_opened: serviceEvent('own', 'a discovery led to a hypothesis', hypothesis),
  hypothesis_accepted: serviceEvent('own', 'a person accepted a hypothesis', hypothesis),
  hypothesis_seen_again: serviceEvent('own', 'another discovery led to the same hypothesis', hypothesis),
  hypothesis_relinked: serviceEvent(
    'own',
    'its record got another slug, since the first was taken meanwhile',
    hypothesis,
  ),
  hypothesis_rejected: serviceEvent('own', 'a person rejected a hypothesis', hypothesis),
  discovery_recorded: serviceEvent(
    'own',
    'a read-only inspection of a repository was recorded',
    openObject({
      discovery_id: Type.String(),
      hypothesis_ids: Type.Optional(Type.Array(Type.String())),
      observations: Type.Optional(count('how many')),
      revision: text,
    }),
  ),
  drift_classified: serviceEvent(
    'own',
    'a person classified a drift',
    openObject({
      intent_record_id: Type.String(),
      key: text,
      classification: Type.String(),
      drift_status: Type.Optional(driftStatus),
      reason: text,
      review_at: Type.Optional(timestamp()),
    }),
  ),
}
