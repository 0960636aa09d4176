/**
 * When the events were recorded that retention has taken: what was made then has no event that says so any more. The log is in the
 * order of time but where a clock was wrong, so the first event that is left does not tell.
 */
import { HEAD_FORGOTTEN, type LogTables, type ReadTransaction } from '../environments.ts'

/** Milliseconds since the epoch, both included. */
type TimeSpan = readonly [firstMs: number, lastMs: number]

export interface ForgottenTimes {
  /** The latest. Absent: there is none but those ahead. */
  readonly last?: number
  /** Of those that had not come yet when their events were taken, by a clock that was wrong once: the first and the last. */
  readonly ahead?: TimeSpan
}

/** @param times at which some events were recorded that are taken at `nowMs`; one that is not known is NaN. */
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

/** Whether an event of this time may be among them. */
export function mayBeForgotten({ last, ahead }: ForgottenTimes, ms: number): boolean {
  return (last !== undefined && ms <= last) || (ahead !== undefined && ms >= ahead[0] && ms <= ahead[1])
}

/** Of a log; undefined where retention has taken nothing since this is kept. */
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
