/** Those who look after entities in turns of their own, and what they fail at: for whoever operates the service. */
import type { Health } from '../../runtime/control/guard.ts'
import type { ServiceContext } from '../route.ts'

/** Who fails at what, for the documents. */
export const CARETAKERS_FAIL =
  'the scheduler failed (work items, and what it hears of pacing, projects, run requests, runners and their manifests), the steward (initiatives), the dispatcher (run requests, runners and projects), capabilities (manifests and runners) or sessions (agent sessions, maintenance runs and runners)'

/** By the name under which the log knows them. */
export function caretakersOf(service: ServiceContext): readonly [string, { readonly health: Health }][] {
  const { scheduler, steward, dispatcher, capabilities, sessions } = service
  return Object.entries({ scheduler, steward, dispatcher, capabilities, sessions })
}

export function passedOverCount(service: ServiceContext): number {
  return caretakersOf(service).reduce((sum, [, { health }]) => sum + health.passedOverCount, 0)
}
