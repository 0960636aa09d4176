/**
 * Of the runs that may change a repository, no more are held by runners, or lost with them, than the project of any of
 * them permits.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import type { RequestModel } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'no more runs change a repository at a time than may'

export const repositoriesTakeAsManyAsTheyMay: MakeInvariant = (world) => ({
  name: NAME,
  event(event: LoggedEvent, request: RequestModel | undefined) {
    if (event.type !== 'run_request_offered' || request === undefined) return
    const others = world.writers.besides(request)
    if (!world.writers.areEnough(others, request)) return
    const held = others.map(({ id, state }) => `${id} is ${state}`)
    throw new Violation(NAME, `${request.id} is offered while ${held.join(', ')} on the same repository`)
  },
})
