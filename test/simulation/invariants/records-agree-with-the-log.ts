/**
 * What the service has of an entity is what the log says of it: checked at every start, and at the end for all of
 * storage.
 */
import { verifyHooks } from '../../../runtime/offline/verify-hooks.ts'
import { verify } from '../../../storage/verify/verify.ts'
import type { Process } from '../process.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'records agree with the log'
const hooks = verifyHooks()

export const recordsAgreeWithTheLog: MakeInvariant = (world) => {
  const compare = (process: Process): void => {
    for (const request of world.requests.byId.values()) {
      const snapshot = process.runtime.read({ kind: 'run_request', id: request.id })
      if (snapshot === undefined) {
        if (!world.mayBeForgotten(request)) throw new Violation(NAME, `${request.id} is not there any more`)
        continue
      }
      const { value, context } = snapshot
      const is = `${value} at attempt ${context.attempt}, held by ${context.offered_to}`
      const said = `${request.state} at attempt ${request.attempt}, held by ${request.runner}`
      if (is !== said) throw new Violation(NAME, `${request.id} is ${is}; the log says ${said}`)
    }
    for (const runner of world.fleet.byId.values()) {
      const snapshot = process.runtime.read({ kind: 'runner', id: runner.id })
      if (snapshot?.value !== runner.state || snapshot.context.capacity !== runner.capacity) {
        throw new Violation(NAME, `runner ${runner.id} is ${snapshot?.value}; the log says ${runner.state}`)
      }
    }
  }
  return {
    name: NAME,
    serves(process) {
      // One whose log failed while it started cannot know whether its last batch is on disk, and ends.
      if (!process.isDoomed) compare(process)
    },
    async finally(process) {
      compare(process)
      await process.journal!.settled()
      const { findings } = await verify(process.journal!.environments, hooks)
      if (findings.length > 0) throw new Violation(NAME, JSON.stringify(findings.slice(0, 5)))
    },
  }
}
