/** Under which envelope a fact goes that belongs to no run: one of a project's own, or of the service's. */
import type { FactEnvelope } from './machine.ts'

/** The project of the service's own events, which belong to none. */
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

/** Facts about what belongs to a project, and is nobody's run: they are on no trace. */
export function projectEnvelope(project: string): FactEnvelope {
  return { ...SYSTEM_ENVELOPE, project }
}
