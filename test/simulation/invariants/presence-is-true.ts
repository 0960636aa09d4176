/**
 * A runner comes online when it was not, and goes offline when it was: not before it was silent for the full presence
 * time, with the service there to hear it, and soon after that. A runner with a parked poll is online.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'presence is true'
const POLL = '/api/runners/:runner_id/run-requests/next'
/** What is decided in one turn is committed in the next. */
const TURN_MS = 1
/** Ticks, turns, and what the service does first when it starts. */
const SLACK_MS = 2_000

export const presenceIsTrue: MakeInvariant = (world) => {
  /** When the last poll of each runner that was answered had come. */
  const polledMs = new Map<string, number>()
  /** When processes began to start: what one has written may be on disk only with the next. */
  const bootsMs: number[] = []

  const isSilent = (id: string, { text, atMs }: LoggedEvent): void => {
    const bootedMs = bootsMs.findLast((ms) => ms <= atMs)!
    const silentMs = atMs - Math.max(polledMs.get(id) ?? 0, bootedMs)
    if (silentMs < world.settings.presenceMs) throw new Violation(NAME, `silent for ${silentMs} ms: ${text}`)
    if (world.network.hasParkedPoll(id, atMs - TURN_MS)) throw new Violation(NAME, `its poll waits: ${text}`)
  }

  return {
    name: NAME,
    boots() {
      bootsMs.push(world.timeline.nowMs)
    },
    said({ call, status, askedMs }) {
      if (call.pattern === POLL && (status === 200 || status === 204)) polledMs.set(call.params![0]!, askedMs)
    },
    before(event) {
      const { type, payload, text } = event
      if (type !== 'runner_online' && type !== 'runner_offline') return
      const { runner_id: id } = payload
      if (world.fleet.byId.get(id)?.online === (type === 'runner_online')) throw new Violation(NAME, text)
      if (type === 'runner_offline') isSilent(id, event)
    },
    looks() {
      const { nowMs } = world.timeline
      if (nowMs - world.quietSinceMs < SLACK_MS) return
      for (const runner of world.made.runners) {
        const { online } = world.fleet.byId.get(runner.id)!
        const silentMs = nowMs - Math.max(world.network.heardMs(runner), world.quietSinceMs)
        if (online && silentMs > world.settings.presenceMs + SLACK_MS)
          throw new Violation(NAME, `${runner.id} is online, and was silent for ${silentMs} ms`)
        if (!online && world.network.hasParkedPoll(runner.id, nowMs - SLACK_MS))
          throw new Violation(NAME, `${runner.id} is offline, and its poll waits`)
      }
    },
  }
}
