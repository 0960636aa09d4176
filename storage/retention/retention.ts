/**
 * Retention removes a prefix of the log. First the floor is raised, and the events are gone for every reader. Then
 * their ids and histories go, flushed, and last their rows, with the floor of the next step or at the end. If killed
 * in between, the next process finds rows below the floor and begins with them; so does the next step if the thread
 * that looked has ended.
 */

import type { TrimCut, TrimStep } from '../journal.ts'
import type { EventLog } from '../log/event-log.ts'
import type { Platform } from '../platform.ts'
import type { Applier } from '../view/applier.ts'
import { NotBegun } from '../view/recorded-tables.ts'
import type { Forgetter } from './forgetter.ts'

interface Journal {
  readonly platform: Pick<Platform, 'wallMs'>
  /** Whether the disk has room for a step, which frees space only at its end. */
  readonly hasRoom: () => Promise<boolean>
  /** Throws if nothing may be written any more. */
  readonly assertWritable: () => void
  readonly onFailure: (error: unknown) => Error
}

/** Removes up to 2,000 of the oldest events before the cut, but none that the view does not hold yet. */
export async function trimOldest(
  cut: TrimCut,
  log: EventLog,
  applier: Applier,
  forgetter: Forgetter,
  { platform, hasRoom, assertWritable, onFailure }: Journal,
): Promise<TrimStep> {
  assertWritable()
  if (!(await hasRoom())) return { removed: 0, more: false }
  const { count, lost, next, areLeft, more, times } = await forgetter.look({
    floor: log.oldestSequence,
    isCleared: log.isCleared,
    end: Math.min(
      'beforeSequence' in cut ? cut.beforeSequence : Number.POSITIVE_INFINITY,
      applier.applied.sequence + 1,
    ),
    recordedBeforeMs: 'recordedBeforeMs' in cut ? cut.recordedBeforeMs : Number.POSITIVE_INFINITY,
    nowMs: platform.wallMs(),
  })
  if (count === 0) return { removed: 0, more: false }
  assertWritable()
  try {
    // In the same turn, so that whatever is recorded from now on is written after the removal.
    if (!areLeft) log.raiseFloor(next, times)
    if (!(await applier.exclusive(() => forgetter.removeEvents(next)))) {
      return { removed: areLeft ? 0 : count, more: true, ...(lost > 0 && { lost }) }
    }
    log.cleared(next)
    if (areLeft || !more) log.removeCleared()
  } catch (error) {
    // The ids and histories go with the next step.
    if (error instanceof NotBegun) return { removed: areLeft ? 0 : count, more: false, ...(lost > 0 && { lost }) }
    throw onFailure(error)
  }
  return { removed: count, more, ...(lost > 0 && { lost }) }
}
