/**
 * When a sentinel falls due next. Invariant: no time comes twice after the clock was set back by up to a day, unless
 * somebody resumes the sentinel or changes its times in between.
 */
import { instantMs } from '../instant.ts'
import type { SnapshotOf } from '../machine.ts'
import { knowsZone, nextDue } from './calendar.ts'
import type { SentinelContext } from './context.ts'

/**
 * A time at which it fell due counts if it lies ahead by at most this, for then the clock was set back a little: no
 * mistake about a time zone is larger. One that lies further ahead was shown by a wrong clock, and has yet to come.
 */
const AHEAD_MS_MAX = 86_400_000

type Times = Pick<SentinelContext, 'cron' | 'time_zone' | 'internal'>

/**
 * Behind the latest time at which it fell due, even if the clock was set back since then. Undefined if this Node.js
 * does not know its time zone.
 */
export function nextOf({ cron, time_zone, internal: { due_at } }: Times, nowMs: number): string | undefined {
  if (!knowsZone(time_zone)) return undefined
  return nextDue(cron, time_zone, due_at === undefined ? nowMs : Math.max(nowMs, instantMs(due_at)))
}

/** With no time at which it fell due that lies behind `untilMs`: that may come again. */
export function forgetting(
  { due_at, ...rest }: SentinelContext['internal'],
  untilMs: number,
): SentinelContext['internal'] {
  return due_at === undefined || instantMs(due_at) > untilMs ? rest : { ...rest, due_at }
}

/**
 * When it falls due next by a clock that was set right, or by the time zones of another Node.js; undefined if that is
 * no sooner than it thinks. Never later: a time that has come and was not handled yet would be passed over.
 */
export function reckoned(
  context: SentinelContext,
  nowMs: number,
): { readonly internal: SentinelContext['internal']; readonly next_at: string } | undefined {
  const internal = forgetting(context.internal, nowMs + AHEAD_MS_MAX)
  const next_at = nextOf({ ...context, internal }, nowMs)
  if (next_at === undefined || (context.next_at !== undefined && context.next_at <= next_at)) return undefined
  return { internal, next_at }
}

/** Whether to tell it that it may fall due sooner than it thinks. */
export function mayComeSooner({ value, context }: SnapshotOf<SentinelContext>, nowMs: number): boolean {
  return value === 'active' && reckoned(context, nowMs) !== undefined
}
