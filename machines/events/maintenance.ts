/** Maintenance run lifecycle (SPEC 6.13). */
import { count, openObject, Type } from '../schema.ts'
import { engineEvent } from './event-type.ts'

export const maintenanceEvents = {
  maintenance_run_started: engineEvent(
    '6.13',
    'a maintenance run began',
    openObject({ project: Type.String({ description: 'project this run covers' }) }),
    { opensSpan: true },
  ),
  maintenance_run_completed: engineEvent(
    '6.13',
    'a maintenance run ended',
    openObject({
      total: count('projects processed'),
      succeeded: count('projects that succeeded'),
      failed: count('projects that hit an error'),
      skipped: count('projects skipped (already active or configured to skip)'),
      projects: Type.Array(
        openObject({ name: Type.String(), status: Type.String(), duration_secs: Type.Number({ minimum: 0 }) }),
      ),
    }),
  ),
}
