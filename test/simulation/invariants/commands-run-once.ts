/** Every emitted command makes one run request, however often it was sent and whatever broke on the way. */
import { isCommand } from '../../../machines/events/index.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'commands run once'

export const commandsRunOnce: MakeInvariant = () => {
  /** Commands by their event's id, and the request that each has made. */
  const made = new Map<string, string | undefined>()
  return {
    name: NAME,
    event({ type, id, runRequestId, causationId, payload, text }) {
      if (isCommand(type) && runRequestId === undefined) made.set(id, made.get(id))
      // Of what is asked of a campaign or an initiative an item comes, and that may be handed out again.
      if (type !== 'run_request_created' || causationId === null || !made.has(causationId)) return
      const before = made.get(causationId)
      if (before !== undefined) throw new Violation(NAME, `${causationId} made ${before} before: ${text}`)
      made.set(causationId, payload.run_request_id)
    },
    owed() {
      for (const [command, request] of made) if (request === undefined) return `${command} has made no run request`
      return undefined
    },
  }
}
