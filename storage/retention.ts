/**
 * Retention removes a prefix of the log: first the floor moves, and the events are gone for every reader; then go
 * their ids and histories, flushed, and last their rows, with the floor of the next step or at the end. Killed in between,
 * the next process finds rows below the floor and begins with them.
 */
import type { Applier } from './applier.ts'
import type { EventLog } from './event-log.ts'
import type { EventRow } from './event-rows.ts'
import { identityOfEvent } from './identity.ts'
import type { StoredEvent, TrimCut, TrimStep } from './journal.ts'
import type { LeavingEvent, View } from './view.ts'

const TRIM_EVENTS_MAX = 2_000
/** Texts read for one step: what is held in memory, and how long the main thread is taken. */
const TRIM_BYTES_MAX = 4 * 1024 * 1024

/** Removes up to 2,000 of the oldest events before the cut, never one that the view does not hold. */
export async function trimOldest(
  log: EventLog,
  view: View,
  applier: Applier,
  cut: TrimCut,
  onFailure: (error: unknown) => Error,
): Promise<TrimStep> {
  const left = log.belowFloor(TRIM_EVENTS_MAX).flatMap(eventsOf)
  const { leaving, more } = left.length > 0 ? { leaving: left.map(goneBefore), more: true } : oldest(log, applier, cut)
  if (leaving.length === 0) return { removed: 0, more: false }
  // Killed between its floor and its ids, an earlier step may have left those of a row that stayed.
  const part = log.partBelowFloor().map(goneBefore)
  const floor = leaving.at(-1)!.sequence + 1
  try {
    if (left.length === 0) log.raiseFloor(floor)
    await applier.exclusive(() => view.removeEvents([...part, ...leaving], floor))
    log.cleared(floor)
    if (left.length > 0 || !more) log.removeCleared()
  } catch (error) {
    throw onFailure(error)
  }
  return { removed: leaving.length, more }
}

const eventsOf = ({ first, texts }: EventRow): StoredEvent[] => texts.map((text, i) => ({ sequence: first + i, text }))

const goneBefore = ({ sequence, text }: StoredEvent): LeavingEvent => ({
  sequence,
  identity: identityOfEvent(text),
  mayBeBack: true,
})

/** The oldest events before the cut that the view holds, and whether there are more of them. */
function oldest(log: EventLog, applier: Applier, cut: TrimCut): { leaving: readonly LeavingEvent[]; more: boolean } {
  const beforeSequence = 'beforeSequence' in cut ? cut.beforeSequence : Number.POSITIVE_INFINITY
  const recordedBeforeMs = 'recordedBeforeMs' in cut ? cut.recordedBeforeMs : Number.POSITIVE_INFINITY
  const end = Math.min(beforeSequence, applier.applied.sequence + 1)
  const { events } = log.page(log.oldestSequence - 1, TRIM_EVENTS_MAX, TRIM_BYTES_MAX)
  const leaving: LeavingEvent[] = []
  for (const { sequence, text } of events) {
    const identity = sequence < end ? identityOfEvent(text) : undefined
    if (identity === undefined || identity.recordedMs >= recordedBeforeMs) return { leaving, more: false }
    // Only what is written behind this step can record it anew.
    leaving.push({ sequence, identity, mayBeBack: false })
  }
  return { leaving, more: leaving.length > 0 && leaving.at(-1)!.sequence + 1 < end }
}
