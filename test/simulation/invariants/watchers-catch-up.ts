/**
 * A watcher that takes its frames is sent what concerns it at once, and once nothing hinders them, all watchers have
 * seen everything.
 */
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'watchers catch up'
/** A short log is read in some turns. */
const SLACK_MS = 2_000

export const watchersCatchUp: MakeInvariant = (world) => ({
  name: NAME,
  looks() {
    const { nowMs } = world.timeline
    for (const { name, listensSinceMs, place, nextUnseen } of world.watchers) {
      if (listensSinceMs === undefined || place === undefined || nextUnseen === undefined) continue
      const sinceMs = Math.max(listensSinceMs, nextUnseen.atMs, world.quietSinceMs)
      if (nowMs - sinceMs < SLACK_MS) continue
      throw new Violation(NAME, `${name} at ${place} has waited ${nowMs - sinceMs} ms for ${nextUnseen.text}`)
    }
  },
  owed() {
    const behind = world.watchers.find((watcher) => !watcher.isCaughtUp)
    return behind && `${behind.name} is at ${behind.place}, and the log at ${world.mirror.lastSequence}`
  },
})
