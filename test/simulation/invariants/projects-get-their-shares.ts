/**
 * Of what is offered while two projects compete, each gets its share by weight. They compete from the first offer of one
 * of them to the last at which the other had something that the same runner could take.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import type { RequestModel } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'projects get their shares'
/**
 * Most rounds by which one may get ahead of the other, and fall behind again: one for the weights themselves, and some
 * for a project that could start nothing for a while before.
 */
const ROUNDS_MAX = 4
/** An offer is decided in one turn and committed in the next. */
const TURN_MS = 1

/** How far the first project is ahead, in rounds: its offers by its weight, less those of the second by theirs. */
interface Race {
  ahead: number
  least: number
  most: number
}

export const projectsGetTheirShares: MakeInvariant = (world) => {
  const races = new Map<string, Race>()

  /** Nothing keeps it from being offered, but for the want of a runner. */
  const isReady = (request: RequestModel, atMs: number): boolean => {
    const isWaiting = request.state === 'queued' && request.approved && atMs - request.sinceMs > TURN_MS
    if (!isWaiting || request.labels.length > 0 || request.pin !== undefined || request.access !== 'read_only')
      return false
    const ready = world.snapshots.get(request.id)?.context.internal.ready
    return ready === true && !world.items.pausedLanes.has(request.lane)
  }

  /** More than one, since a request is left out for a while when its offer was refused. */
  const competes = (project: string, atMs: number): boolean => {
    let count = 0
    for (const request of world.requests.byId.values())
      if (request.project === project && isReady(request, atMs) && ++count > 1) return true
    return false
  }

  const offered = ({ project, runner }: RequestModel, other: string, atMs: number): void => {
    const [first, second] = project < other ? [project, other] : [other, project]
    const pair = `${first} ${second}`
    const terms = world.fleet.byId.get(runner!)
    const mayBoth =
      terms?.projects.includes('*') || (terms?.projects.includes(first) && terms.projects.includes(second))
    if (!mayBoth || !competes(other, atMs)) {
      races.delete(pair)
      return
    }
    const race = races.get(pair) ?? { ahead: 0, least: 0, most: 0 }
    race.ahead += (project === first ? 1 : -1) / world.weights.of(project)
    race.least = Math.min(race.least, race.ahead)
    race.most = Math.max(race.most, race.ahead)
    races.set(pair, race)
    if (race.most - race.least <= ROUNDS_MAX) return
    const weights = [first, second].map((key) => `${key} (${world.weights.of(key)})`)
    throw new Violation(NAME, `one of ${weights.join(' and ')} got ${race.most - race.least} rounds ahead of the other`)
  }

  return {
    name: NAME,
    event({ type, atMs }: LoggedEvent, request: RequestModel | undefined) {
      if (type === 'pacing_project_weighed') races.clear()
      if (type !== 'run_request_offered' || request === undefined || !world.plan.isWeighing) return
      for (const { key } of world.made.projects) if (key !== request.project) offered(request, key, atMs)
    },
    boots() {
      races.clear()
    },
  }
}
