/**
 * Durations where a time is expected, such as `--expires 30d`: they count from now by the clock of the service. That is
 * the clock which decides when they are over, and this machine's may be wrong.
 */
import type { Client } from '../engine/client.ts'
import { utcOf } from '../machines/instant.ts'

/** How far the service's clock may be ahead of the `Date` of its answer, which has whole seconds, in milliseconds. */
const DATE_LAG_MS = 2_000

/** A duration that was given as a time. */
export class FromNow {
  readonly ms: number

  constructor(ms: number) {
    this.ms = ms
  }
}

/** Replaces each duration among the options in place with the time at which it is over (RFC 3339). */
export async function withTimes(client: () => Client, options: Record<string, any>): Promise<void> {
  const given = Object.entries(options).filter(([, value]) => value instanceof FromNow)
  if (given.length === 0) return
  const nowMs = await serviceNowMs(client())
  for (const [name, { ms }] of given) options[name] = utcOf(nowMs + ms)
}

/** By this machine's clock if that may be right, or if the service does not tell its own. */
async function serviceNowMs(client: Client): Promise<number> {
  // If the service cannot be reached, the request itself will say so.
  const answer = await client.request('GET', '/healthz').catch(() => undefined)
  const dateMs = Date.parse(answer?.headers.get('date') ?? '')
  const nowMs = Date.now()
  return Number.isNaN(dateMs) ? nowMs : Math.min(Math.max(nowMs, dateMs), dateMs + DATE_LAG_MS)
}
