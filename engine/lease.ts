/**
 * How long a lease of the service lasts, and with that how often a run must be heard of. Answers name the end of a lease by the
 * service's clock, which need not be ours: they only tell when it has changed. Its length is what GET /api/version says.
 */
import type { Client } from './client.ts'

/** A beat is due when this share of the lease is over: two more have their time before it ends. */
const SHARE = 0.3
/** Shortest pause between beats, milliseconds: a lease of 3 s, the shortest that the service takes, still holds three. */
const BEAT_MS_MIN = 1_000
/** Longest pause, milliseconds: a beat also brings the news of a cancellation. What a lease of a minute, the default, asks for. */
const BEAT_MS_MAX = 18_000
/** Answers whose leases seem to differ by less, milliseconds, have only been on their way for longer. */
const SAME_MS = 2_000
/** When the service is slow each answer may look like news: its lease is not read more often than this, milliseconds. */
const READ_AGAIN_MS = 60_000
const ANSWER_MS = 5_000

export class Lease {
  readonly #client: Client
  #beatMs = BEAT_MS_MAX
  /** How long before its end, by our clock, the lease was named when its length was read. */
  #leftMs: number | undefined
  #readAtMs = 0
  #reading: Promise<void> | undefined

  constructor(client: Client) {
    this.#client = client
  }

  /** From one beat to the next, milliseconds. */
  get beatMs(): number {
    return this.#beatMs
  }

  /** An answer named the end of a lease (RFC 3339). Resolves when its length is known, if it can be. Never rejects. */
  async heard(expiresAt: string): Promise<void> {
    const leftMs = Date.parse(expiresAt) - Date.now()
    const isKnown = this.#leftMs !== undefined
    if (isKnown && Math.abs(leftMs - this.#leftMs!) < SAME_MS) return
    if (isKnown && performance.now() - this.#readAtMs < READ_AGAIN_MS) return
    this.#reading ??= this.#read(leftMs).finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  /** What cannot be read now stays as it was, and is asked for with the next answer. */
  async #read(leftMs: number): Promise<void> {
    try {
      const { body } = await this.#client.request('GET', '/api/version', { answerMs: ANSWER_MS })
      this.#leftMs = leftMs
      this.#readAtMs = performance.now()
      const leaseMs = body?.limits?.lease_ms
      if (typeof leaseMs !== 'number') return
      this.#beatMs = Math.min(BEAT_MS_MAX, Math.max(BEAT_MS_MIN, leaseMs * SHARE))
    } catch {
      // Away, or an answer that is none: the lease that was is the best guess.
    }
  }
}
