/**
 * The recording times of events that retention has removed: an entity created then may have no event left that says
 * so. The first remaining event does not bound them, since the log is in order of time only where no clock was wrong.
 */
import { HEAD_FORGOTTEN, type LogTables, type ReadTransaction } from '../environments.ts'

/** Milliseconds since the epoch, both inclusive. */
type TimeSpan = readonly [firstMs: number, lastMs: number]

export interface ForgottenTimes {
  /** The latest time. Absent if all removed events have times in `ahead`. */
  readonly last?: number
  /**
   * First and last of the times that were still in the future when their events were removed, because a clock was
   * wrong.
   */
  readonly ahead?: TimeSpan
}

/** @param times when the events removed at `nowMs` were recorded; NaN if unknown. */
export function forgottenAt(times: readonly number[], nowMs: number): ForgottenTimes {
  const past = spanOf(times.filter((ms) => ms <= nowMs))
  const ahead = spanOf(times.filter((ms) => ms > nowMs))
  return { ...(past !== undefined && { last: past[1] }), ...(ahead !== undefined && { ahead }) }
}

export function bothForgotten(one: ForgottenTimes, other: ForgottenTimes): ForgottenTimes {
  const last = spanOf([one.last, other.last].filter((ms) => ms !== undefined))
  const ahead = spanOf([...(one.ahead ?? []), ...(other.ahead ?? [])])
  return { ...(last !== undefined && { last: last[1] }), ...(ahead !== undefined && { ahead }) }
}

/** Whether a removed event may have this time. */
export function mayBeForgotten({ last, ahead }: ForgottenTimes, ms: number): boolean {
  return (last !== undefined && ms <= last) || (ahead !== undefined && ms >= ahead[0] && ms <= ahead[1])
}

/** From the head of a log; undefined if retention has removed nothing since these times have been kept. */
export function forgottenOf(
  head: LogTables['head'],
  reading?: { readonly transaction: ReadTransaction },
): ForgottenTimes | undefined {
  const text = head.get(HEAD_FORGOTTEN, reading)
  return text === undefined ? undefined : (JSON.parse(text) as ForgottenTimes)
}

function spanOf(times: readonly number[]): TimeSpan | undefined {
  if (times.length === 0) return undefined
  let [first, last] = [times[0]!, times[0]!]
  for (const ms of times) {
    if (ms < first) first = ms
    if (ms > last) last = ms
  }
  return [first, last]
}
