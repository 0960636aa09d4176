/** What the service states about engine runs, the traces and evidence it is given, and engines' capabilities. */
import { anyObject, count, openObject, stringEnum, Type, timestamp } from '../schema.ts'
import { serviceEvent } from './event-type.ts'

const text = Type.Optional(Type.String())

const run = {
  engine_run_id: Type.String(),
  state: stringEnum(['open', 'summarized', 'closed']),
  run_request_id: text,
  runner_id: text,
}

const observed = openObject({
  engine_run_id: Type.String(),
  observation_id: text,
  intent_record_id: text,
  evidence_id: text,
  about: Type.Optional(stringEnum(['evidence', 'threat', 'contradiction'])),
  result: Type.Optional(stringEnum(['pass', 'fail', 'unknown', 'waived'])),
  observed_by: text,
  source_type: text,
  supporting_artifacts: Type.Optional(Type.Array(Type.String())),
  notes: text,
  observed_at: Type.Optional(timestamp()),
  trace_id: text,
})

const ingested = openObject({
  trace_id: Type.String(),
  accepted: Type.Optional(count()),
  duplicates: Type.Optional(count()),
  refused: Type.Optional(count()),
})

const capabilities = openObject({
  engine_capability_id: text,
  engine: text,
  engine_version: text,
  runner_id: text,
  supported_entry_events: Type.Optional(Type.Array(Type.String())),
  supported_throttle_modes: Type.Optional(Type.Array(Type.String())),
  version: Type.Optional(count()),
})

export const engineRunEvents = {
  engine_run_opened: serviceEvent('own', 'a runner began to carry out a run request', openObject(run)),
  trace_summary_recorded: serviceEvent(
    'own',
    'a trace summary of an engine run was posted',
    openObject({ ...run, summary: Type.Optional(anyObject()) }),
  ),
  trace_ingested: serviceEvent('own', 'events of a trace were ingested from another log', ingested),
  evidence_observed: serviceEvent('own', 'evidence for or against an intent was observed', observed),
  engine_capabilities_recorded: serviceEvent('own', 'a capability manifest of an engine was posted', capabilities),
  engine_capabilities_removed: serviceEvent('own', 'a capability manifest of an engine was withdrawn', capabilities),
}
