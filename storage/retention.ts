/**
 * Retention removes a prefix of the log: first the floor moves, and the events are gone for every reader; then go
 * their ids and histories, flushed, and last their rows. Killed in between, the next step finds rows below the floor
 * and goes on with them.
 */
import type { Applier } from './applier.ts'
import type { EventLog } from './event-log.ts'
import type { EventRow } from './event-rows.ts'
import { identityOf } from './identity.ts'
import type { StoredEvent, TrimCut, TrimStep } from './journal.ts'
import type { View } from './view.ts'

const TRIM_ROWS_MAX = 1_000
/** Texts read for one step: what is held in memory, and how long the main thread is taken. */
const TRIM_BYTES_MAX = 4 * 1024 * 1024

/** Removes up to 1,000 of the oldest events before the cut, never one that the view does not hold. */
export async function trimOldest(
  log: EventLog,
  view: View,
  applier: Applier,
  cut: TrimCut,
  onFailure: (error: unknown) => Error,
): Promise<TrimStep> {
  const left = log.belowFloor(TRIM_ROWS_MAX)
  const { events, more } = left.length > 0 ? { events: left.flatMap(eventsOf), more: true } : oldest(log, applier, cut)
  if (events.length === 0) return { removed: 0, more: false }
  const ids: { project: string; traceId: string | null; id: string; sequence: number }[] = []
  const histories = { trace: new Set<string>(), item: new Set<string>() }
  // Killed between its floor and its ids, an earlier step may have left those of a row that stayed.
  for (const { sequence, text } of [...log.partBelowFloor(), ...events]) {
    const { project, traceId, id, itemIds } = identityOf(text)
    ids.push({ project, traceId, id, sequence })
    if (traceId !== null) histories.trace.add(traceId)
    for (const itemId of itemIds) histories.item.add(itemId)
  }
  const floor = events.at(-1)!.sequence + 1
  try {
    if (left.length === 0) log.raiseFloor(floor)
    await applier.exclusive(() => view.removeEvents(ids, histories, floor))
    log.remove(log.belowFloor(TRIM_ROWS_MAX))
  } catch (error) {
    throw onFailure(error)
  }
  return { removed: events.length, more }
}

const eventsOf = ({ first, texts }: EventRow): StoredEvent[] => texts.map((text, i) => ({ sequence: first + i, text }))

/** The oldest events before the cut that the view holds, and whether there are more of them. */
function oldest(log: EventLog, applier: Applier, cut: TrimCut): { events: readonly StoredEvent[]; more: boolean } {
  const beforeSequence = 'beforeSequence' in cut ? cut.beforeSequence : Number.POSITIVE_INFINITY
  const recordedBeforeMs = 'recordedBeforeMs' in cut ? cut.recordedBeforeMs : Number.POSITIVE_INFINITY
  const end = Math.min(beforeSequence, applier.applied.sequence + 1)
  const { events } = log.page(log.oldestSequence - 1, TRIM_ROWS_MAX, TRIM_BYTES_MAX)
  const stop = events.findIndex(
    ({ sequence, text }) => sequence >= end || identityOf(text).recordedMs >= recordedBeforeMs,
  )
  if (stop !== -1) return { events: events.slice(0, stop), more: false }
  return { events, more: events.length > 0 && events.at(-1)!.sequence + 1 < end }
}
