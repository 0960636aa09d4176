/**
 * What the service answers is on disk by then, at the place in the log that the answer names. No answer is an internal
 * error.
 */
import { Requests } from '../model/requests.ts'
import type { Said } from '../network.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'answers are true'
const OF_ONE_REQUEST = /^\/api\/(run-requests\/:id|projects\/:id\/run-requests$)/

export const answersAreTrue: MakeInvariant = (world) => ({
  name: NAME,
  said(said) {
    if (said.status >= 500 && said.status !== 503) throw wrong(said, 'is a mistake')
    if (said.status >= 300) return
    const cursor = said.headers['Watch-Cursor']
    if (cursor === undefined) return
    const sequence = Number.parseInt(cursor.slice(cursor.indexOf('.') + 1), 36)
    if (sequence > world.mirror.lastSequence) {
      throw wrong(said, `names event ${sequence}, and the disk holds ${world.mirror.lastSequence}`)
    }
    if (!OF_ONE_REQUEST.test(said.call.pattern)) return
    const { body } = said
    const document = body?.run_request ?? body
    if (typeof document?.id !== 'string' || !document.id.startsWith('runreq_') || document.attempt === undefined) return
    const request = world.requests.byId.get(document.id)
    if (request === undefined) throw wrong(said, 'tells of a run request that the log does not know')
    const then = Requests.at(request, sequence)
    if (then === undefined) throw wrong(said, `tells of a run request that was not there at ${sequence}`)
    const stops = body.cancel_requested
    if (stops !== undefined && stops !== (then.state === 'cancelling' || then.state === 'cancelled')) {
      throw wrong(said, `it is ${then.state}`)
    }
    if (then.state !== document.state || then.attempt !== document.attempt) {
      throw wrong(said, `the log says ${then.state}, attempt ${then.attempt}, at ${sequence}`)
    }
  },
})

function wrong({ call, status, text }: Said, why: string): Violation {
  return new Violation(NAME, `${call.method} ${call.pattern} of ${call.by} was answered ${status}: ${why}: ${text}`)
}
