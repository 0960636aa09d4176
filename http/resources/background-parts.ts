/**
 * The background parts that work through entities in turns of their own, and how many entities they fail at: for
 * operators.
 */
import type { Health } from '../../runtime/control/guard.ts'
import type { ServiceContext } from '../route.ts'

/** What each of them may fail at, for the documents. */
export const BACKGROUND_FAILURES =
  'the scheduler failed (work items, and news of pacing, projects, run requests, runners and their manifests), the steward (initiatives), the dispatcher (run requests, runners and projects), capabilities (manifests and runners) or sessions (agent sessions, maintenance runs and runners)'

/** By the name that each has in the log. */
export function backgroundParts(service: ServiceContext): readonly [string, { readonly health: Health }][] {
  const { scheduler, steward, dispatcher, capabilities, sessions } = service
  return Object.entries({ scheduler, steward, dispatcher, capabilities, sessions })
}

export function passedOverCount(service: ServiceContext): number {
  return backgroundParts(service).reduce((sum, [, { health }]) => sum + health.passedOverCount, 0)
}
