/**
 * An attempt has one owner: it is handed to one runner, sent to no other, and moved by no other runner than its holder.
 */
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'an attempt has one owner'
const POLL = '/api/runners/:runner_id/run-requests/next'

export const oneOwner: MakeInvariant = (world) => {
  const owners = new Map<string, string>()
  return {
    name: NAME,
    before(event) {
      if (!event.type.startsWith('run_request_') || !world.fleet.byId.has(event.by)) return
      const request = world.requests.byId.get(event.payload.run_request_id)
      if (request !== undefined && request.runner !== event.by) {
        throw new Violation(NAME, `${event.by} moved what ${request.runner} holds: ${event.text}`)
      }
    },
    said(said) {
      const { call, status, process } = said
      if (call.pattern !== POLL || status !== 200 || process.isDoomed) return
      const runner = call.params![0]!
      const { request_id: id, attempt } = said.body
      const request = world.requests.byId.get(id)
      // Once retention has forgotten a request, its key may make another of the same name.
      const name = `${id}/${request?.created.sequence}/${attempt}`
      const owner = owners.get(name) ?? runner
      if (owner !== runner) throw new Violation(NAME, `attempt ${attempt} of ${id} went to ${owner} and to ${runner}`)
      owners.set(name, runner)
      if (request?.state !== 'offered' || request.runner !== runner || request.attempt !== attempt) {
        const is = `${request?.state} at attempt ${request?.attempt}, held by ${request?.runner}`
        throw new Violation(NAME, `${runner} was handed attempt ${attempt} of ${id}, which is ${is}`)
      }
    },
  }
}
