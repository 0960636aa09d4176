/**
 * When a new process of a runner begins its session, what the old one held ends at once and for that reason: it is
 * requeued if it had not begun, else lost.
 */
import { HELD } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'a new session ends what the old one held'
const TOO_LATE = ['its runner made no call for the length of the lease', 'the offer was not accepted in time']
/** What was offered in the same turn belongs to the new process. */
const TURN_MS = 1

export const sessionsEndWhatCameBefore: MakeInvariant = (world) => {
  /** Attempts that a session has ended, until they are told. */
  const owed = new Map<string, number>()
  return {
    name: NAME,
    before(event) {
      const { type, payload, atMs } = event
      if (type === 'runner_updated' && payload.changed?.includes('session')) {
        for (const request of world.requests.byId.values()) {
          const isHeld = request.runner === payload.runner_id && HELD.has(request.state)
          if (isHeld && atMs - request.sinceMs > TURN_MS) owed.set(request.id, request.attempt)
        }
        return
      }
      const id = payload.run_request_id
      if (!type.startsWith('run_request_') || owed.get(id) === undefined) return
      if (TOO_LATE.includes(payload.reason)) throw new Violation(NAME, `a session had ended it before: ${event.text}`)
      // A stop that was asked for meanwhile does not take it from its holder.
      if (type !== 'run_request_cancel_requested') owed.delete(id)
    },
    owed() {
      for (const [id, attempt] of owed) return `attempt ${attempt} of ${id} is not told that its process is gone`
      return undefined
    },
  }
}
