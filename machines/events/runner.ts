/** What the service states about its runners. Invariant: no payload holds a credential or its hash. */
import { count, openObject, stringEnum, Type, timestamp } from '../schema.ts'
import { noSecrets, serviceEvent } from './event-type.ts'

const texts = Type.Optional(Type.Array(Type.String()))

const payload = openObject(
  {
    runner_id: Type.String(),
    state: stringEnum(['registered', 'draining', 'removed']),
    name: Type.Optional(Type.String()),
    allowed_projects: texts,
    labels: texts,
    capacity: Type.Optional(count()),
    trusted: Type.Optional(Type.Boolean()),
    run_rights: texts,
    draining: Type.Optional(Type.Boolean()),
    presence: Type.Optional(stringEnum(['online', 'offline'])),
    last_seen_at: Type.Optional(timestamp()),
    version: Type.Optional(Type.String()),
    limited: Type.Optional(
      openObject({
        code: Type.String(),
        message: Type.String(),
        since: timestamp(),
        until: timestamp(),
        is_stated: Type.Boolean(),
        run_request_id: Type.String(),
      }),
    ),
    reason: Type.Optional(Type.String()),
    changed: Type.Optional(Type.Array(Type.String(), { description: 'names of the members that changed' })),
  },
  { rules: [noSecrets] },
)

export const runnerEvents = {
  runner_registered: serviceEvent('own', 'a runner was registered', payload),
  runner_updated: serviceEvent('own', 'grants, labels, capacity, drain or credential of a runner changed', payload),
  runner_removed: serviceEvent('own', 'a runner was removed', payload),
  runner_online: serviceEvent('own', 'a runner called after being offline', payload),
  runner_limited: serviceEvent(
    'own',
    'the provider of its agents is unavailable: a runner is offered nothing until then',
    payload,
  ),
  runner_limit_ended: serviceEvent('own', 'a runner is offered work again: see its reason', payload),
  runner_offline: serviceEvent(
    'own',
    'a runner went offline: it has not called for too long, or reported that it is ending',
    payload,
  ),
}
