/** Of the runs that may change a repository, at most one is held by a runner, or lost with one. */
import { projectIdOf } from '../../../machines/ids.ts'
import type { LoggedEvent } from '../model/mirror.ts'
import { HELD, type RequestModel } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'one run at a time changes a repository'

export const oneAtATimeChangesARepository: MakeInvariant = (world) => ({
  name: NAME,
  event(event: LoggedEvent, request: RequestModel | undefined) {
    if (event.type !== 'run_request_offered' || request === undefined) return
    const repository = repositoryOf(request)
    if (repository === undefined) return
    for (const other of world.requests.byId.values()) {
      if (other === request || !(HELD.has(other.state) || other.state === 'lost')) continue
      if (repositoryOf(other) === repository) {
        throw new Violation(NAME, `${request.id} is offered while ${other.id} is ${other.state} on ${repository}`)
      }
    }
  },
})

/** Undefined: it changes nothing. */
function repositoryOf({ throttle, access, created, project }: RequestModel): string | undefined {
  if (throttle !== 'full' || access !== 'full') return undefined
  return created.payload.repo?.path ?? projectIdOf(project)
}
