/**
 * Retention removes a prefix of the log. First the ids and histories of the events, flushed, then the events
 * and the floor in one transaction: killed in between, the same step is made again and ends the same.
 */
import type { Applier } from './applier.ts'
import type { EventLog } from './event-log.ts'
import { identityOf } from './identity.ts'
import type { TrimCut, TrimStep } from './journal.ts'
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
  const beforeSequence = 'beforeSequence' in cut ? cut.beforeSequence : Number.POSITIVE_INFINITY
  const recordedBeforeMs = 'recordedBeforeMs' in cut ? cut.recordedBeforeMs : Number.POSITIVE_INFINITY
  const end = Math.min(beforeSequence, applier.applied.sequence + 1)
  const { events } = log.page(log.oldestSequence - 1, TRIM_ROWS_MAX, TRIM_BYTES_MAX)
  const ids: { project: string; traceId: string | null; id: string; sequence: number }[] = []
  const histories: { of: 'trace' | 'item'; id: string }[] = []
  let floor = log.oldestSequence
  for (const { sequence, text } of events) {
    const identity = identityOf(text)
    if (sequence >= end || identity.recordedMs >= recordedBeforeMs) break
    floor = sequence + 1
    ids.push({ project: identity.project, traceId: identity.traceId, id: identity.id, sequence })
    if (identity.traceId !== null) histories.push({ of: 'trace', id: identity.traceId })
    for (const id of identity.itemIds) histories.push({ of: 'item', id })
  }
  if (ids.length === 0) return { removed: 0, more: false }
  await applier.exclusive(() => view.removeEvents(ids, histories, floor))
  try {
    log.removeBefore(floor)
  } catch (error) {
    throw onFailure(error)
  }
  return { removed: ids.length, more: ids.length === events.length && floor < end }
}
