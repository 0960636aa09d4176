/**
 * A repeat gets the same answer: a completion or failure that was accepted is not refused later, unless its runner has
 * ended a later attempt; a different one for the same attempt is never accepted.
 */
import { END_EVENTS } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'accepted results stay accepted'
const ENDS = /^\/api\/run-requests\/:id\/(completed|failed)$/
const RESULT_OF_ANOTHER_LIFE: readonly number[] = [401, 404, 503]

export const whatWasTakenStaysTaken: MakeInvariant = (world) => {
  /** Posts that ended an attempt, by what they said; and for each attempt the words that ended it. */
  const taken = new Map<string, string>()
  /** The newest attempt of each request that its runner ended: the service remembers one such post. */
  const ended = new Map<string, number>()
  return {
    name: NAME,
    before({ type, payload, by }) {
      const request = world.requests.byId.get(payload.run_request_id)
      if (request !== undefined && END_EVENTS.has(type) && by === request.runner) ended.set(request.id, request.attempt)
    },
    said({ call, status, process }) {
      if (!ENDS.test(call.pattern) || process.isDoomed) return
      const { attempt: named, ...said } = call.body as { attempt?: number }
      const attempt = named ?? 1
      const id = call.params![0]!
      const request = world.requests.byId.get(id)
      // Who names no attempt means the first, and must name it once there is another.
      if (status === 422 && named === undefined && (request?.attempt ?? 1) > 1) return
      const life = request?.created.sequence
      const name = `${id}/${life}/${attempt}/${call.token}`
      const words = `${call.pattern} ${JSON.stringify(said)}`
      const before = taken.get(name)
      if (status === 200) {
        if (before !== undefined && before !== words) throw new Violation(NAME, `${name}: ${before}, and then ${words}`)
        taken.set(name, words)
      } else if (before === words && !RESULT_OF_ANOTHER_LIFE.includes(status)) {
        if (status === 409 && (ended.get(id) ?? 0) > attempt) return
        throw new Violation(NAME, `${name}: ${words} was taken, and is now answered ${status}`)
      }
    },
  }
}
