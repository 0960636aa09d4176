/**
 * How long the disk kept the service waiting, from its own `/metrics`. A commit holds up everyone who waits for it, so
 * a long flush may explain a long call of the same minute.
 */
import type { Target } from '../wire.ts'

const BUCKET = /^intendant_fsync_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm

export class Flushes {
  readonly #url: string
  readonly #token: string
  #before: ReadonlyMap<number, number> = new Map()

  constructor({ host, port }: Target, token: string) {
    this.#url = `http://${host}:${port}/metrics`
    this.#token = token
  }

  /**
   * Upper bound of the longest flush since the last reading, milliseconds: the bound of a bucket. 0 if there was none.
   */
  async longestMs(): Promise<number> {
    const answer = await fetch(this.#url, { headers: { authorization: `Bearer ${this.#token}` } })
    if (!answer.ok) throw new Error(`GET /metrics: ${answer.status}`)
    const now = buckets(await answer.text())
    const longest = longestOf(this.#before, now)
    this.#before = now
    return longest * 1_000
  }
}

/** Bucket bound in seconds -> number of flushes that took no longer. */
export function buckets(text: string): ReadonlyMap<number, number> {
  return new Map(
    [...text.matchAll(BUCKET)].map(([, bound, count]) => [
      bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound),
      Number(count),
    ]),
  )
}

/** The least bound that covers everything between two readings. */
export function longestOf(before: ReadonlyMap<number, number>, now: ReadonlyMap<number, number>): number {
  const grown = (bound: number): number => now.get(bound)! - (before.get(bound) ?? 0)
  const bounds = [...now.keys()].sort((a, b) => a - b)
  const all = bounds.length === 0 ? 0 : grown(bounds.at(-1)!)
  return all === 0 ? 0 : bounds.find((bound) => grown(bound) === all)!
}
