/**
 * A runner is offered only work that it may take, and no more than it has room for: capacity, labels, projects, trust,
 * approval, pin; one unaccepted offer at a time; nothing while it drains, or while its provider is away.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import { HELD, type RequestModel } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'runners are offered only what they may take'
/** An offer is decided in one turn and committed in the next: so old may be what it was decided upon. */
const TURN_MS = 1

export const runnersTakeWhatTheyMay: MakeInvariant = (world) => ({
  name: NAME,
  before(event) {
    if (event.type !== 'run_request_offered') return
    const request = world.requests.byId.get(event.payload.run_request_id)
    const runner = world.fleet.byId.get(event.payload.runner_id)
    if (request === undefined) return
    if (runner === undefined) throw wrong(event, 'there is no such runner')
    // Submitting a work item is its approval.
    const isOfItem = world.snapshots.get(request.id)?.context.asked.work_item_id !== undefined
    if (!request.approved && !isOfItem) throw wrong(event, 'it is not approved')
    if (request.pin !== undefined && request.pin !== runner.id) throw wrong(event, `it names ${request.pin}`)
    let held = 0
    for (const other of world.requests.byId.values()) {
      if (other.runner !== runner.id || !HELD.has(other.state)) continue
      held++
      if (other.state === 'offered') throw wrong(event, `${other.id} is offered to it too`)
    }
    // What was changed in the same turn may come first in the log.
    if (event.atMs - runner.changedMs < TURN_MS) return
    if (held >= runner.capacity) throw wrong(event, `it holds ${held} of ${runner.capacity}`)
    if (runner.state !== 'registered') throw wrong(event, `the runner is ${runner.state}`)
    if (runner.limited) throw wrong(event, 'the provider of the runner is away')
    checkTerms(event, request, runner)
  },
})

function checkTerms(
  event: LoggedEvent,
  request: RequestModel,
  runner: { readonly projects: readonly string[]; readonly labels: readonly string[]; readonly trusted: boolean },
): void {
  if (!runner.projects.includes('*') && !runner.projects.includes(request.project))
    throw wrong(event, 'not its project')
  // Whoever is named needs no label.
  if (request.pin === undefined && request.labels.some((label) => !runner.labels.includes(label)))
    throw wrong(event, 'it lacks a label')
  if (request.throttle === 'full' && request.access === 'full' && !runner.trusted)
    throw wrong(event, 'it is not trusted')
}

function wrong(event: LoggedEvent, why: string): Violation {
  return new Violation(NAME, `${event.payload.run_request_id} offered to ${event.payload.runner_id}: ${why}`)
}
