/**
 * When an active sentinel needs a person: it submits nothing time after time, or its items fail one after the other.
 * Bounds are such that work which at times takes longer than a short interval calls for nobody.
 */
import type { SkipCode, Skipping } from '../documents/sentinel.ts'
import { instantMs } from '../instant.ts'
import type { Term } from '../machine.ts'
import type { SentinelContext } from './context.ts'

/** Called for if it has submitted nothing so many times in a row, and for so long. */
const SKIPPED_IN_A_ROW = 3
const SKIPPING_MS_MIN = 3_600_000
/** Called for if so many of its items have ended one after the other with something left to be done. */
export const FAILED_IN_A_ROW = 3
/** One of them may be under way. */
const RECENT_MAX = FAILED_IN_A_ROW + 1

/**
 * How often in a row it has skipped a time, once it has fallen due or was fired. A firing by hand that submits nothing
 * says nothing of its times, and a project is archived on purpose.
 */
export function skippingAfter(
  before: Skipping | undefined,
  { type, at }: { readonly type: string; readonly at: string },
  skipped: SkipCode | undefined,
): Skipping | undefined {
  if (type === 'fire' && skipped !== undefined) return before
  if (skipped === undefined || skipped === 'project_archived') return undefined
  if (before === undefined) return { times: 1, since: at }
  // A clock that was set right since then had been ahead.
  return { times: before.times + 1, since: before.since < at ? before.since : at }
}

/** Its last items, oldest first: as many as it takes to tell whether they keep failing. */
export function recentAfter(before: readonly string[] = [], itemId: string): readonly string[] {
  return [...before, itemId].slice(-RECENT_MAX)
}

/** Rows of the index `attention` of an active one. How its items have ended is looked up when such a row is read. */
export function needTerms({ next_at, skipping, internal: { recent = [] } }: SentinelContext, order: string): Term[] {
  const rows: Term[] = []
  if (next_at === undefined) rows.push({ index: 'attention', value: 'unscheduled', order })
  if (skipping !== undefined && skipping.times >= SKIPPED_IN_A_ROW) {
    const calledAt = new Date(instantMs(skipping.since) + SKIPPING_MS_MIN).toISOString()
    rows.push({ index: 'attention', value: 'skipping', order: calledAt })
  }
  if (recent.length >= FAILED_IN_A_ROW) rows.push({ index: 'attention', value: 'failing', order })
  return rows
}
