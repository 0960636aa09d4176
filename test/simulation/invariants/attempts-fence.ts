/**
 * The holder of an older attempt is not heard: a runner's post that is accepted is for the attempt that it names (the
 * first, if it names none), unless it repeats the post that ended that attempt.
 */
import { END_EVENTS } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'older attempts are fenced off'
const POST = /^\/api\/run-requests\/:id\/(accepted|started|heartbeat|events|completed|failed|release)$/
/** These may take the request back to the queue, as its next attempt. */
const GIVES_BACK: ReadonlySet<string> = new Set(['failed', 'release'])
const REPEATABLE: ReadonlySet<string> = new Set(['completed', 'failed'])

export const attemptsFence: MakeInvariant = (world) => {
  /** Attempts that a post of their runner has ended. */
  const ended = new Set<string>()
  return {
    name: NAME,
    before({ type, payload, by }) {
      const request = world.requests.byId.get(payload.run_request_id)
      if (request !== undefined && END_EVENTS.has(type) && by === request.runner)
        ended.add(`${request.id}/${request.attempt}`)
    },
    said(said) {
      const { call, status, process } = said
      const post = POST.exec(call.pattern)?.[1]
      if (post === undefined || status !== 200 || process.isDoomed) return
      if (!world.made.runners.some(({ token }) => token === call.token)) return
      const { attempt: named = 1 } = call.body as { attempt?: number }
      const { id, state, attempt } = said.body.run_request
      if (attempt === named) return
      if (GIVES_BACK.has(post) && state === 'queued' && attempt === named + 1) return
      if (REPEATABLE.has(post) && ended.has(`${id}/${named}`)) return
      throw new Violation(NAME, `${post} of attempt ${named} was taken of ${id}, which is in attempt ${attempt}`)
    },
  }
}
