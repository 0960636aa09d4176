/**
 * An offer is sent to its runner at once or returned at once: no request stays offered to a runner that was never told
 * of it.
 */
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'offers reach their runner or go back'
/** Turns of the one, and of the other. */
const SLACK_MS = 1_000
const POLL = '/api/runners/:runner_id/run-requests/next'

export const offersReachSomebody: MakeInvariant = (world) => {
  /** Offers of this process that nobody was told of, by request and attempt. */
  const untold = new Map<string, number>()
  let bootedMs = Number.NEGATIVE_INFINITY
  return {
    name: NAME,
    event({ type, atMs }, request) {
      // What the process before wrote and told nobody of is found as this one boots.
      if (type === 'run_request_offered' && atMs > bootedMs) untold.set(`${request!.id}/${request!.attempt}`, atMs)
    },
    said({ call, status, body }) {
      if (status === 200 && call.pattern === POLL) untold.delete(`${body.request_id}/${body.attempt}`)
    },
    boots() {
      untold.clear()
      bootedMs = world.timeline.nowMs
    },
    looks() {
      const { nowMs } = world.timeline
      for (const [offer, sinceMs] of untold) {
        if (nowMs - Math.max(sinceMs, world.quietSinceMs) < SLACK_MS) continue
        const [id, attempt] = offer.split('/')
        const { state, attempt: at, runner } = world.requests.byId.get(id!)!
        if (state === 'offered' && String(at) === attempt)
          throw new Violation(NAME, `${id} is offered to ${runner}, and nobody was told of attempt ${attempt}`)
        untold.delete(offer)
      }
    },
  }
}
