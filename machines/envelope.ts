/** The envelopes of facts that belong to no run: those of a project, or of the service itself. */
import type { FactEnvelope } from './machine.ts'

/** The project named in the service's own events, which belong to no real project. */
export const SYSTEM_PROJECT = 'system'

/** Facts about the service's own resources belong to no project. */
export const SYSTEM_ENVELOPE = {
  project: SYSTEM_PROJECT,
  throttle: 'full',
  trace_id: null,
  span_id: null,
  parent_span_id: null,
  causation_id: null,
  gather_id: null,
} as const

/** For facts about what belongs to a project but not to a run: they are on no trace. */
export function projectEnvelope(project: string): FactEnvelope {
  return { ...SYSTEM_ENVELOPE, project }
}
