/**
 * A runner whose provider is unavailable: it is offered nothing until an end that is always known. Temporary limits
 * expire by themselves; nothing marks a runner as unusable for good.
 */
import type { LimitedRunner } from '../documents/runner.ts'
import type { ScheduleParams } from '../machine.ts'
import { outageEndMs } from '../run-request/failure.ts'
import type { Of, RunnerContext } from './context.ts'

export const LIMIT_TIMER = 'limit'

type Change = Partial<RunnerContext>

/**
 * Runs that were under way together meet the same outage: while the runner is limited, a further report only makes the
 * limit longer.
 */
export function limitedBy({ limited, internal }: RunnerContext, message: Of<'limit'>): Change {
  const { run_request_id, code, message: words, until, at, atMs } = message
  const { outages = 0, outages_since = at } = internal
  if (limited !== undefined) {
    const isLater = until !== undefined && (!limited.is_stated || until > limited.until)
    return isLater ? { limited: { ...limited, run_request_id, code, message: words, until, is_stated: true } } : {}
  }
  const end = until ?? new Date(outageEndMs(undefined, outages, atMs)).toISOString()
  const is_stated = until !== undefined
  const since = is_stated ? at : outages_since
  return {
    limited: { code, message: words, since, until: end, is_stated, run_request_id },
    internal: { ...internal, outages: outages + 1, outage: undefined, ...(is_stated ? {} : { outages_since }) },
  }
}

/** Its time is over. The provider may still be away: what it was is kept, and the next pause is longer. */
export function limitOver({ limited, internal }: RunnerContext): Change {
  return { limited: undefined, internal: { ...internal, outage: limited } }
}

/** The provider answers, or an operator says so: the next pause is as short as the first. */
export function outagesOver({ internal }: RunnerContext): Change {
  return {
    limited: undefined,
    internal: { ...internal, outages: undefined, outages_since: undefined, outage: undefined },
  }
}

export function limitTimer({ until }: LimitedRunner): ScheduleParams {
  return { timer: LIMIT_TIMER, dueMs: Date.parse(until), message: { type: 'limit_over', until } }
}
