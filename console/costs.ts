/** What agent sessions cost, as far as they have told it. */
import type { Document } from './document.ts'

/** Sums by currency, such as `12.3 USD + 4 EUR`; empty: nothing is known. */
export function costOf(sessions: readonly Document[]): string {
  const sums = new Map<string, number>()
  for (const { cost = {} } of sessions)
    for (const [currency, amount] of Object.entries(cost))
      sums.set(currency, (sums.get(currency) ?? 0) + Number(amount))
  return [...sums].map(([currency, sum]) => `${Math.round(sum * 10_000) / 10_000} ${currency}`).join(' + ')
}

/** Those that have ended since then, or have not ended. */
export function sessionsSince(sessions: readonly Document[], sinceMs: number): readonly Document[] {
  return sessions.filter(({ ended_at: end, state }) => state !== 'ended' || Date.parse(end) >= sinceMs)
}
