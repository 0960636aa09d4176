/** While nothing troubles the service, no poll stays parked while there is work that its runner could take. */
import type { RunnerModel } from '../model/fleet.ts'
import { HELD, type RequestModel } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'no poll waits while its runner could take work'
/** Longer than a request is held back after its offer was refused once. */
const PATIENCE_MS = 3_000

export const noPollWaitsBesideWork: MakeInvariant = (world) => {
  /** Since when a pair of runner and request could have been brought together. */
  let apart = new Map<string, number>()

  const isReady = (request: RequestModel): boolean => {
    const context = world.snapshots.get(request.id)?.context
    if (request.state !== 'queued' || context === undefined) return false
    if (!context.internal.ready || !context.internal.approved || world.items.pausedLanes.has(request.lane)) return false
    const { expires_at: expiresAt } = context.asked
    // The service's own clock does not go back when the computer's is set back: to it, the time may be over already.
    if (expiresAt !== undefined && Date.parse(expiresAt) <= world.latestWallMs) return false
    if (world.labels.fullOf(request) !== undefined) return false
    return !world.writers.areEnough(world.writers.besides(request), request)
  }

  const mayTake = (runner: RunnerModel, request: RequestModel): boolean => {
    if (runner.state !== 'registered' || runner.limited) return false
    if (request.pin !== undefined && request.pin !== runner.id) return false
    const toldOf = world.snapshots.get(request.id)?.context.made.told_of ?? []
    const isAllowed = (project: string): boolean => runner.projects.includes('*') || runner.projects.includes(project)
    if (![request.project, ...toldOf].every(isAllowed)) return false
    if (request.pin === undefined && request.labels.some((label) => !runner.labels.includes(label))) return false
    if (request.throttle === 'full' && request.access === 'full' && !runner.trusted) return false
    let held = 0
    for (const other of world.requests.byId.values()) {
      if (other.runner !== runner.id || !HELD.has(other.state)) continue
      held++
      if (other.state === 'offered') return false
    }
    return held < runner.capacity
  }

  return {
    name: NAME,
    looks() {
      const { nowMs } = world.timeline
      const before = apart
      apart = new Map()
      if (nowMs - world.quietSinceMs < PATIENCE_MS) return
      const ready = [...world.requests.byId.values()].filter(isReady)
      if (ready.length === 0) return
      for (const runner of world.fleet.byId.values()) {
        if (!world.network.hasParkedPoll(runner.id, nowMs - PATIENCE_MS)) continue
        for (const request of ready) {
          if (!mayTake(runner, request)) continue
          const pair = `${runner.id} ${request.id}`
          const sinceMs = before.get(pair) ?? nowMs
          apart.set(pair, sinceMs)
          if (nowMs - sinceMs <= PATIENCE_MS) continue
          throw new Violation(NAME, `${runner.id} polls, and ${request.id} is ready, for ${nowMs - sinceMs} ms`)
        }
      }
    },
  }
}
