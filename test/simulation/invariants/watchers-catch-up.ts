/** Once nothing hinders it, everybody who watches has seen everything that concerns him. */
import type { MakeInvariant } from './invariant.ts'

export const watchersCatchUp: MakeInvariant = (world) => ({
  name: 'watchers catch up',
  owed() {
    const behind = world.watchers.find((watcher) => !watcher.isCaughtUp)
    return behind && `${behind.name} is at ${behind.place}, and the log at ${world.mirror.lastSequence}`
  },
})
