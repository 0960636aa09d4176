/**
 * One idempotency key names one request: repeating it returns the request that it made, for as long as the key is kept
 * after that has settled. Where the name is the id, a kept key makes nothing under another name, and is forgotten soon
 * after its time.
 */
import type { RunRequestContext } from '../../../machines/run-request/context.ts'
import { isKeyOver, KEPT_KEYS } from '../../../runtime/entities/kept-keys.ts'
import { SETTLED } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'an idempotency key names one request'
/** What is made in one turn is answered in the next. */
const TURN_MS = 5
/** A sweep comes ten seconds behind the last, and takes its time. */
const SLACK_MS = 15_000
/** Where what is made is called what it was asked to be. */
const NAMED: ReadonlySet<string> = new Set(['/api/campaigns', '/api/initiatives'])

export const keysNameOneRequest: MakeInvariant = (world) => {
  /** Project and key -> the request that it last named. */
  const named = new Map<string, string>()
  /** Who asked, where and with which key -> what that last made, and when. */
  const made = new Map<string, { readonly name: string; readonly atMs: number }>()
  return {
    name: NAME,
    said({ call: { by, pattern, headers, body }, status }) {
      const key = headers?.['idempotency-key']
      if (status !== 201 || key === undefined || !NAMED.has(pattern)) return
      const { name } = body as { readonly name: string }
      const place = `${by} ${pattern} ${key}`
      const before = made.get(place)
      const isKept = before !== undefined && world.latestWallMs < before.atMs + world.settings.idempotencyMs - TURN_MS
      if (isKept && before.name !== name) throw new Violation(NAME, `${key} made ${before.name}, and now ${name}`)
      made.set(place, { name, atMs: world.wallMs })
    },
    looks() {
      if (world.timeline.nowMs - world.quietSinceMs < SLACK_MS) return
      // A clock that leaps is not believed at once.
      const sweptMs = world.wallMs - world.fate.clockForwardMs - SLACK_MS
      for (const value of world.disk.reserved(KEPT_KEYS)) {
        if (isKeyOver(value, sweptMs)) throw new Violation(NAME, `${value} is still kept`)
      }
    },
    committed(steps) {
      for (const { ref, before, after } of steps) {
        if (ref.kind !== 'run_request' || before !== undefined) continue
        const { project, asked, made: of } = after.context as RunRequestContext
        if (!of.key_given) continue
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
