/**
 * The clock of the service, which may differ from this machine's: by it ages count, and durations where a time is
 * expected, such as `--expires 30d`.
 */
import type { Answer, Client } from '../engine/client.ts'
import { aheadMs, utcOf } from '../machines/instant.ts'

export class ServiceClock {
  /** How far it is ahead of this machine's clock. */
  #aheadMs = 0

  /** Takes the time from an answer of the service: this machine's if that may be right, or if none is told. */
  heard(headers: Answer['headers']): void {
    this.#aheadMs = aheadMs(headers.get('date') ?? null, Date.now()) ?? this.#aheadMs
  }

  readonly nowMs = (): number => Date.now() + this.#aheadMs
}

/** A duration that was given as a time; negative for one that has passed. */
export class FromNow {
  readonly ms: number

  constructor(ms: number) {
    this.ms = ms
  }
}

/** Replaces each duration among the options in place with the time that far from now (RFC 3339). */
export async function withTimes(
  client: () => Client,
  clock: ServiceClock,
  options: Record<string, any>,
): Promise<void> {
  const given = Object.entries(options).filter(([, value]) => value instanceof FromNow)
  if (given.length === 0) return
  // If the service cannot be reached, the request itself will say so.
  await client()
    .request('GET', '/healthz')
    .catch(() => undefined)
  for (const [name, { ms }] of given) options[name] = utcOf(clock.nowMs() + ms)
}
