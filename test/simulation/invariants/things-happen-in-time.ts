/**
 * What has a time happens at that time: nothing is offered before its `not_before` or after its `expires_at`, no run is
 * stopped before its timeout, and none goes on for long past it while the service is there.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import type { RequestModel } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'things happen in time'
/** From when something is due until it is in the log: turns, timers of Node.js, a view that is behind. */
const SLACK_MS = 2_000

export const thingsHappenInTime: MakeInvariant = (world) => {
  let servesSinceMs = Number.POSITIVE_INFINITY

  /** Whether somebody was there, and the clock was left alone, for long enough to keep the time. */
  const couldKeep = (dueWallMs: number): boolean => {
    const agoMs = world.wallMs - dueWallMs
    const quietSinceMs = Math.max(servesSinceMs, world.fate.lastTroubleMs)
    return agoMs > SLACK_MS && world.timeline.nowMs - quietSinceMs > agoMs + SLACK_MS
  }

  const late = (event: LoggedEvent, what: string, dueWallMs: number): void => {
    if (couldKeep(dueWallMs)) {
      throw new Violation(NAME, `${what} was due ${world.wallMs - dueWallMs} ms ago: ${event.text}`)
    }
  }
  const early = (event: LoggedEvent, what: string, dueWallMs: number): void => {
    if (!world.fate.wasClockSet && world.wallMs < dueWallMs) {
      throw new Violation(NAME, `${what} is due only in ${dueWallMs - world.wallMs} ms: ${event.text}`)
    }
  }

  const check = (event: LoggedEvent, request: RequestModel): void => {
    const { type, payload } = event
    const asked = world.snapshots.get(request.id)?.context.asked
    if (asked === undefined) return
    const timeoutMs = asked.timeout_seconds === undefined ? undefined : asked.timeout_seconds * 1_000
    if (type === 'run_request_offered') {
      const notBefore = world.snapshots.get(request.id)!.context.not_before
      if (notBefore !== undefined) early(event, 'not_before', Date.parse(notBefore))
      if (asked.expires_at !== undefined) late(event, 'expires_at', Date.parse(asked.expires_at))
    }
    if (timeoutMs === undefined || request.startedWallMs === undefined) return
    const dueMs = request.startedWallMs + timeoutMs
    if (type === 'run_request_cancel_requested' && payload.code === 'timeout') early(event, 'the timeout', dueMs)
    if (type === 'run_request_completed' && request.state === 'started') late(event, 'the timeout', dueMs)
  }

  return {
    name: NAME,
    serves() {
      servesSinceMs = world.timeline.nowMs
    },
    boots() {
      servesSinceMs = Number.POSITIVE_INFINITY
    },
    before(event) {
      const request = world.requests.byId.get(event.payload.run_request_id)
      if (request !== undefined && event.type.startsWith('run_request_')) check(event, request)
    },
  }
}
