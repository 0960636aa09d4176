/** Facts identified by the machine, not by the runtime, because their id or their own cause is named elsewhere. */
import { prepareEvent } from './events/envelope.ts'
import type { FactEnvelope, RecordedFact } from './machine.ts'

/** `at`: when the fact happened, RFC 3339. */
export function recordedFact(type: string, payload: object, place: FactEnvelope, at: string): RecordedFact {
  const fields = { ...place, event_type: type, occurred_at: at }
  return { type, recorded: prepareEvent({ ...fields, payload: payload as Record<string, unknown> }) }
}
