/**
 * A runner that is heard keeps what it holds: no offer and no lease ends before its full length has passed since the
 * service last heard of its holder, or started.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'leases last their full length'
const RUNNER_POSTS = /^\/api\/run-requests\/:id\/(accepted|started|heartbeat|events)$/
const SILENCE = 'its runner made no call for the length of the lease'
const NOT_ACCEPTED = 'the offer was not accepted in time'

export const leasesLast: MakeInvariant = (world) => {
  const heardMs = new Map<string, number>()
  /** When processes began to start. */
  const bootsMs: number[] = []

  const check = (event: LoggedEvent, sinceMs: number, lengthMs: number, what: string): void => {
    const beganMs = bootsMs.findLast((ms) => ms <= event.atMs)!
    const lastedMs = event.atMs - Math.max(sinceMs, beganMs)
    if (lastedMs >= lengthMs) return
    throw new Violation(NAME, `${what} ended after ${lastedMs} of ${lengthMs} ms: ${event.text}`)
  }

  return {
    name: NAME,
    boots() {
      bootsMs.push(world.timeline.nowMs)
    },
    said({ call, status, process }) {
      if (status !== 200 || !process.isAlive || !RUNNER_POSTS.test(call.pattern)) return
      heardMs.set(call.params![0]!, world.timeline.nowMs)
    },
    before(event) {
      const id = event.payload.run_request_id
      const request = world.requests.byId.get(id)
      if (request === undefined) return
      if (event.payload.reason === NOT_ACCEPTED) check(event, request.sinceMs, world.settings.offerMs, 'the offer')
      if (event.payload.reason === SILENCE) {
        const sinceMs = Math.max(heardMs.get(id) ?? 0, request.takenUpMs)
        check(event, sinceMs, world.settings.leaseMs, 'the lease')
      }
    },
  }
}
