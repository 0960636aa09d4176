/**
 * Project lifecycle as engines report it (SPEC 6.5), local install and maintenance triggers (SPEC 6.6), and what the
 * service states about its own project documents.
 */
import { anyObject, count, onlyWith, openObject, stringEnum, Type } from '../schema.ts'
import { engineEvent, serviceEvent } from './event-type.ts'

const validationCompleted = openObject(
  {
    status: stringEnum(['ok', 'error', 'skipped']),
    reason: Type.Optional(Type.String({ description: 'explanation when status is not ok' })),
    has_gates: Type.Optional(Type.Boolean({ description: 'gate definition file .tool-gates.json is present' })),
    fast_forwarded: Type.Optional(count('commits fast-forwarded from the remote branch before work began')),
    sync_failure: Type.Optional(
      stringEnum(['dirty_tree', 'diverged', 'remote_unavailable'], {
        description: 'typed reason the checkout sync was refused',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'true when the sync was simulated; fast_forwarded is what would be applied' }),
    ),
  },
  { rules: [onlyWith('status', ['ok'], 'has_gates', 'fast_forwarded')] },
)

const workflowCompleted = <const Workflow extends string>(workflow: Workflow) =>
  openObject({
    project: Type.String({ description: 'project name' }),
    workflow: stringEnum([workflow]),
    success: Type.Boolean({ description: 'workflow succeeded' }),
    summary: Type.String({ description: 'human-readable result' }),
    changes: Type.Optional(Type.Boolean({ description: 'code changes were made' })),
  })

const cve = Type.String({ description: 'advisory id, or unknown' })
const ofProject = openObject({ project: Type.String({ description: 'validated project' }) })

/** Identity and state of a project document, and what changed. */
const document = openObject({
  project_id: Type.String(),
  state: stringEnum(['active', 'archived']),
  key: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  repository: Type.Optional(Type.String()),
  max_writers: Type.Optional(Type.Integer({ description: 'absent: 1' })),
  changed: Type.Optional(Type.Array(Type.String(), { description: 'names of the members that changed' })),
})

export const projectEvents = {
  project_validation_completed: engineEvent('6.5', 'pre-flight checks for a maintenance run', validationCompleted),
  project_iteration_completed: engineEvent('6.5', 'iterate workflow finished', workflowCompleted('iterate')),
  project_maintenance_completed: engineEvent('6.5', 'maintain workflow finished', workflowCompleted('maintain')),
  project_changes_committed: engineEvent(
    '6.5',
    'a git commit was created',
    openObject({
      cve,
      message: Type.String({ description: 'commit message used' }),
      push_failure: Type.Optional(stringEnum(['push_rejected_diverged', 'remote_unavailable'])),
    }),
  ),
  project_changes_pushed: engineEvent('6.5', 'changes pushed to the remote', openObject({ cve })),

  local_install_completed: engineEvent('6.6', 'local tool reinstallation finished', anyObject()),
  iteration_requested: engineEvent('6.6', 'triggers the iterate sub-workflow for a validated project', ofProject, {
    opensSpan: true,
    command: true,
  }),
  maintenance_requested: engineEvent('6.6', 'triggers the maintain sub-workflow for a validated project', ofProject, {
    opensSpan: true,
    command: true,
  }),

  project_created: serviceEvent('own', 'a project was registered', document),
  project_updated: serviceEvent(
    'own',
    'name, repository, its limit of writers, charter or archive state of a project changed',
    document,
  ),
}
