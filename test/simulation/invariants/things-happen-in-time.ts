/**
 * What has a time happens at that time: nothing is offered before its `not_before` or from its `expires_at` on, and no
 * run is stopped before its timeout; and while the service is there and nothing troubles it, nothing is left long past
 * its time: an offer, a lease, a pause, an expiry, a timeout, the grace of a stop.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import { type RequestModel, SETTLED } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'things happen on time'
/** From when something is due until it is in the log: turns, timers of Node.js, a view that is behind. */
const SLACK_MS = 2_000
const RUNNER_POSTS = /^\/api\/run-requests\/:id\/(accepted|started|heartbeat|events)$/

export const thingsHappenInTime: MakeInvariant = (world) => {
  const heardMs = new Map<string, number>()

  const early = (event: LoggedEvent, what: string, dueWallMs: number): void => {
    if (!world.fate.wasClockSet && world.wallMs < dueWallMs) {
      throw new Violation(NAME, `${what} is due only in ${dueWallMs - world.wallMs} ms: ${event.text}`)
    }
  }

  const check = (event: LoggedEvent, request: RequestModel): void => {
    const context = world.snapshots.get(request.id)?.context
    if (context === undefined) return
    if (event.type === 'run_request_offered' && context.not_before !== undefined) {
      early(event, 'not_before', Date.parse(context.not_before))
    }
    const { timeout_seconds: seconds, expires_at: expiresAt } = context.asked
    if (
      event.type === 'run_request_offered' &&
      expiresAt !== undefined &&
      Date.parse(event.recordedAt) >= Date.parse(expiresAt)
    ) {
      throw new Violation(NAME, `offered, and it has expired at ${expiresAt}: ${event.text}`)
    }
    if (event.payload.code === 'timeout' && event.type === 'run_request_cancel_requested') {
      early(event, 'the timeout', request.startedWallMs! + seconds! * 1_000)
    }
  }

  /** What the request waits for, and since when it is due on the clock of the timeline; undefined: nothing. */
  const dueOf = (request: RequestModel): { readonly what: string; readonly atMs: number } | undefined => {
    const { offerMs, leaseMs, graceMs } = world.settings
    const { state, sinceMs } = request
    if (state === 'offered')
      return { what: 'the end of its offer', atMs: Math.max(sinceMs, world.quietSinceMs) + offerMs }
    if (state === 'queued') return dueInQueue(request)
    if (state === 'lost' || SETTLED.has(state)) return undefined
    // A stop that is asked for gives a silent runner no more time.
    const heldSinceMs = Math.max(request.takenUpMs, world.quietSinceMs, heardMs.get(request.id) ?? 0)
    const leaseEndMs = heldSinceMs + leaseMs
    if (state === 'cancelling') {
      const graceEndMs = Math.max(sinceMs, world.quietSinceMs) + graceMs
      return { what: 'the end of its grace', atMs: Math.min(graceEndMs, leaseEndMs) }
    }
    const seconds = world.snapshots.get(request.id)?.context.asked.timeout_seconds
    if (state !== 'started' || seconds === undefined) return { what: 'the end of its lease', atMs: leaseEndMs }
    // One that was lost is stopped once it is back, if its time has passed meanwhile.
    const timeoutMs = Math.max(sinceMs, request.startedWallMs! + seconds * 1_000 - world.clock.offsetMs)
    return { what: 'its timeout or the end of its lease', atMs: Math.min(timeoutMs, leaseEndMs) }
  }

  const dueInQueue = (request: RequestModel): { readonly what: string; readonly atMs: number } | undefined => {
    const context = world.snapshots.get(request.id)?.context
    if (context === undefined) return undefined
    // What was lost may be queued again when its time has passed.
    const atOf = (time: string): number => Math.max(request.sinceMs, Date.parse(time) - world.clock.offsetMs)
    if (!context.internal.ready) return { what: 'not_before', atMs: atOf(context.not_before!) }
    if (context.asked.expires_at !== undefined) return { what: 'expires_at', atMs: atOf(context.asked.expires_at) }
    return undefined
  }

  return {
    name: NAME,
    said({ call, status }) {
      if (status === 200 && RUNNER_POSTS.test(call.pattern)) heardMs.set(call.params![0]!, world.timeline.nowMs)
    },
    before(event) {
      const request = world.requests.byId.get(event.payload.run_request_id)
      if (request !== undefined && event.type.startsWith('run_request_')) check(event, request)
    },
    looks() {
      const { nowMs } = world.timeline
      if (nowMs - world.quietSinceMs < SLACK_MS) return
      for (const request of world.requests.byId.values()) {
        const due = dueOf(request)
        if (due === undefined || nowMs - due.atMs < SLACK_MS) continue
        // The service looks at a clock that was set once a minute at the latest.
        if (nowMs - world.fate.clockSetMs < 61_000 + SLACK_MS) continue
        const is = `${request.state} at attempt ${request.attempt}`
        throw new Violation(NAME, `${due.what} was due ${nowMs - due.atMs} ms ago: ${request.id} is ${is}`)
      }
    },
  }
}
