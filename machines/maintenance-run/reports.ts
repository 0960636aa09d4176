/**
 * What an engine's event tells the maintenance run of its trace (SPEC 6.13): that it began for a project, how a project
 * came out, that it is over. A run without a trace cannot be told from others, and is only recorded.
 */

import type { PreparedEvent } from '../events/envelope.ts'
import { maintenanceRunIdOf, type ProjectScope } from '../ids.ts'
import type { SendParams } from '../machine.ts'

/** How a project of the run came out, as far as is known. */
export type ProjectStatus = 'succeeded' | 'failed' | 'skipped' | 'interrupted'

const TYPES: ReadonlySet<string> = new Set([
  'maintenance_run_started',
  'maintenance_run_completed',
  'project_validation_completed',
  'project_iteration_completed',
  'project_maintenance_completed',
])

export function isMaintenanceEvent(eventType: string): boolean {
  return TYPES.has(eventType)
}

/** The message for the run; undefined if the event says nothing that the run remembers. `scope`: that of the sender. */
export function maintenanceNews(event: PreparedEvent, scope: ProjectScope): SendParams | undefined {
  const { trace_id, event_type, occurred_at, project } = event
  if (trace_id === null) return undefined
  const to = { kind: 'maintenance_run', id: maintenanceRunIdOf(trace_id, scope) } as const
  if (event_type === 'maintenance_run_started') {
    const { id, throttle, span_id, gather_id } = event
    const begin = { id, occurred_at, throttle, trace_id, span_id, gather_id }
    return { to, message: { type: 'begin', project, name: coveredBy(event), event: begin } }
  }
  if (event_type === 'maintenance_run_completed') return { to, message: { type: 'complete', project } }
  const status = statusOf(event)
  if (status === undefined) return undefined
  return { to, message: { type: 'project_ended', project, name: coveredBy(event), status, occurred_at } }
}

/** The project covered by the run that the event is about: need not be the envelope's (SPEC 6.5, 6.13). */
function coveredBy({ project, payload }: PreparedEvent): string {
  return typeof payload.project === 'string' && payload.project !== '' ? payload.project : project
}

/** The status that ends a project's part: that of the first step that fails, or of the last one. */
function statusOf({ event_type, payload }: PreparedEvent): ProjectStatus | undefined {
  if (event_type === 'project_validation_completed') {
    if (payload.status === 'skipped') return 'skipped'
    return payload.status === 'error' ? 'failed' : undefined
  }
  if (payload.success === false) return 'failed'
  return event_type === 'project_maintenance_completed' ? 'succeeded' : undefined
}
