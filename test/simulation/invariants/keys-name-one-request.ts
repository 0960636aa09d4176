/**
 * One idempotency key, one request: whoever sends it again gets the request that it made, for as long as the key is kept
 * after that has settled.
 */
import { SETTLED } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'keys name one request'

export const keysNameOneRequest: MakeInvariant = (world) => {
  /** Project and key -> the request that it last named. */
  const named = new Map<string, string>()
  return {
    name: NAME,
    committed(steps) {
      for (const { ref, before, after } of steps) {
        if (ref.kind !== 'run_request' || before !== undefined) continue
        const { project, asked, internal } = after.context
        if (internal.key_given !== true) continue
        const key = `${project}/${asked.idempotency_key}`
        const earlier = named.get(key)
        named.set(key, ref.id)
        if (earlier === undefined || earlier === ref.id) continue
        const request = world.requests.byId.get(earlier)!
        if (!SETTLED.has(request.state)) {
          throw new Violation(NAME, `${key} made ${ref.id} while ${earlier} is ${request.state}`)
        }
        if (world.latestWallMs < request.settledWallMs! + world.settings.idempotencyMs) {
          throw new Violation(NAME, `${key} made ${ref.id} before its time after ${earlier} was over`)
        }
      }
    },
  }
}
