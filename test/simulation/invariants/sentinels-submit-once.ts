/**
 * A sentinel submits one item each time that it falls due or is fired, which it says, and none while work that asks for
 * the same waits; while the service is there and nothing troubles it, it falls due in time, and does not wait for the
 * time that a clock showed which was days ahead.
 */
import { ITEM_ENDS } from '../model/items.ts'
import { AHEAD_MS } from '../model/sentinels.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'sentinels submit once'
/** From when it falls due until that is in the log: turns, timers of Node.js. */
const SLACK_MS = 2_000
/** The service looks at a clock that was set once a minute at the latest. */
const CLOCK_MS = 61_000
/** By then sentinels that had reckoned by a clock far ahead have reckoned anew, the service being there all the time. */
const RECKONED_MS = 2 * CLOCK_MS

export const sentinelsSubmitOnce: MakeInvariant = (world) => {
  /** What the items ask for, by id. */
  const asked = new Map<string, string>()

  const submits = (sentinel: string, item: string, message: any): void => {
    const { project, objective, kind, source } = message
    if (source.kind !== 'sentinel' || source.ref !== sentinel)
      throw new Violation(NAME, `${item} of ${sentinel} names another source: ${JSON.stringify(source)}`)
    if (asked.has(item)) throw new Violation(NAME, `${sentinel} submits ${item} again`)
    const work = `${project} ${kind} ${objective}`
    for (const [other, otherWork] of asked) {
      const state = world.items.byId.get(other)?.state ?? 'on its way'
      // One that is being stopped does not count, and the log does not tell whether a running one is.
      if (otherWork === work && state !== 'running' && !ITEM_ENDS.has(state))
        throw new Violation(NAME, `${sentinel} submits ${item} (${work}) beside ${other}, which is ${state}`)
    }
    asked.set(item, work)
  }

  return {
    name: NAME,
    steps(steps) {
      for (const { kind, id, events, outbox } of steps) {
        if (kind !== 'sentinel') continue
        const said = events.map(({ text }) => JSON.parse(text)).filter((fact) => fact.event_type === 'sentinel_fired')
        const sent = outbox.map(({ toId }) => toId)
        if (said.map(({ payload }) => payload.item_id).join() !== sent.join())
          throw new Violation(NAME, `${id} says ${JSON.stringify(said)} and submits ${sent}`)
        for (const { toId, message } of outbox) submits(id, toId, message)
      }
    },
    looks() {
      const { nowMs } = world.timeline
      if (nowMs - world.quietSinceMs < SLACK_MS || nowMs - world.fate.clockSetMs < CLOCK_MS + SLACK_MS) return
      for (const { name, nextMs, everyMinutes } of world.sentinels.byName.values()) {
        const silentMs = (nextMs ?? 0) - world.wallMs - everyMinutes * 60_000
        if (silentMs > AHEAD_MS && nowMs - world.fate.clockSetMs >= RECKONED_MS)
          throw new Violation(NAME, `${name} is silent for ${silentMs} ms more than it should be`)
        const lateMs = world.wallMs - (nextMs ?? Number.POSITIVE_INFINITY)
        if (lateMs >= SLACK_MS) throw new Violation(NAME, `${name} was due ${lateMs} ms ago`)
      }
    },
    owed() {
      for (const { name, state } of world.sentinels.byName.values())
        if (state !== 'removed') return `sentinel ${name} is ${state}`
      for (const item of world.sentinels.items) if (!world.items.byId.has(item)) return `${item} was not submitted`
      return undefined
    },
    finally({ runtime }) {
      for (const { name, state, fired } of world.sentinels.byName.values()) {
        const found = runtime.read({ kind: 'sentinel', id: name }) as any
        if (found.value !== state || found.context.fired !== fired)
          throw new Violation(NAME, `${name} is ${found.value} and has fired ${found.context.fired}, not ${fired}`)
        for (const { ref } of runtime.scan('work_item', 'source', `sentinel:${name}`))
          if (!world.sentinels.items.has(ref.id))
            throw new Violation(NAME, `${ref.id} is of ${name}, which said nothing`)
      }
    },
  }
}
