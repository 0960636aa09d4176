/** Of the runs that require a limited label, no more are held by runners, or lost with them, than the limit permits. */
import type { LoggedEvent } from '../model/mirror.ts'
import type { RequestModel } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'no more runs with a label are under way than may'
/** An offer is decided in one turn and committed in the next: so old may be the limit that it was decided upon. */
const TURN_MS = 1

export const labelsTakeAsManyAsTheyMay: MakeInvariant = (world) => ({
  name: NAME,
  event({ type, atMs }: LoggedEvent, request: RequestModel | undefined) {
    if (type !== 'run_request_offered' || request === undefined) return
    const label = world.labels.fullOf(request)
    if (label === undefined || atMs - world.labels.changedMs <= TURN_MS) return
    throw new Violation(NAME, `${request.id} is offered beyond the ${world.labels.limits.get(label)} of label ${label}`)
  },
})
