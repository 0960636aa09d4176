/**
 * Retention removes a prefix of the log, and nothing in it that is younger than the setting; and while the service is
 * there and nothing troubles it, nothing older stays for long.
 */
import { Violation } from '../violation.ts'
import type { World } from '../world.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'retention removes only old events'
/** A sweep comes ten seconds behind the last, and takes its time. */
const SLACK_MS = 15_000

export const retentionTakesOnlyWhatIsOld: MakeInvariant = (world) => ({
  name: NAME,
  forgets(from, until) {
    const { retentionMs = Number.POSITIVE_INFINITY } = world.settings
    for (let sequence = from; sequence < until; sequence++) {
      const ageMs = ageOf(world, sequence, world.latestWallMs)
      if (
        ageMs > retentionMs ||
        (ageOf(world, sequence, world.wallMs) < 0 && isBeforeOneOlder(world, sequence, retentionMs))
      )
        continue
      throw new Violation(NAME, `event ${sequence} was removed at the age of ${ageMs} ms`)
    }
  },
  looks() {
    const { retentionMs } = world.settings
    if (retentionMs === undefined || world.timeline.nowMs - world.quietSinceMs < SLACK_MS) return
    if (world.oldestSequence > world.mirror.lastSequence) return
    // A clock that leaps is not believed at once.
    const ageMs = ageOf(world, world.oldestSequence, world.wallMs - world.fate.clockForwardMs)
    if (ageMs > retentionMs + SLACK_MS)
      throw new Violation(NAME, `event ${world.oldestSequence} is still there at the age of ${ageMs} ms`)
  },
})

/** What is of the future is older than what was recorded behind it. */
function isBeforeOneOlder(world: World, sequence: number, ageMs: number): boolean {
  for (let later = sequence + 1; later <= world.mirror.lastSequence; later++)
    if (ageOf(world, later, world.latestWallMs) > ageMs) return true
  return false
}

/** By the computer's clock, as far as that can tell. */
function ageOf(world: World, sequence: number, wallMs: number): number {
  return wallMs - Date.parse(world.mirror.at(sequence)!.recordedAt)
}
