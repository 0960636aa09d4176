/**
 * The bounds that the service names in GET /api/version: how long a lease lasts, and with that how often a run must be heard of, and
 * how many major upgrades an engine's maintenance may dispatch. Answers name the end of a lease by the service's clock, which need
 * not be ours: they only tell when its length has changed.
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
/** When the service is slow each answer may look like news: its limits are not read more often than this, milliseconds. */
const READ_AGAIN_MS = 60_000
const ANSWER_MS = 5_000

/** What an engine's maintenance may dispatch. What is not known is not there: an older service does not say it. */
export interface MajorTasks {
  readonly perProject?: number
  readonly perNight?: number
}

export class ServiceLimits {
  readonly #client: Client
  #beatMs = BEAT_MS_MAX
  #majorTasks: MajorTasks = {}
  /** How long before its end, by our clock, the lease was named when its length was read. */
  #leftMs: number | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(client: Client) {
    this.#client = client
  }

  /** From one beat to the next, milliseconds. */
  get beatMs(): number {
    return this.#beatMs
  }

  /** As last read, a minute ago at most where the service can be asked. Never rejects. */
  async majorTasks(): Promise<MajorTasks> {
    if (!this.#isFresh()) await this.#readOnce()
    return this.#majorTasks
  }

  /** An answer named the end of a lease (RFC 3339). Resolves when its length is known, if it can be. Never rejects. */
  async heard(expiresAt: string): Promise<void> {
    const leftMs = Date.parse(expiresAt) - Date.now()
    const isKnown = this.#leftMs !== undefined
    if (isKnown && Math.abs(leftMs - this.#leftMs!) < SAME_MS) return
    if (isKnown && this.#isFresh()) return
    await this.#readOnce(leftMs)
  }

  #isFresh(): boolean {
    return performance.now() - this.#readAtMs < READ_AGAIN_MS
  }

  async #readOnce(leftMs?: number): Promise<void> {
    this.#reading ??= this.#read(leftMs).finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  /** What cannot be read now stays as it was, and is asked for with the next answer. */
  async #read(leftMs: number | undefined): Promise<void> {
    try {
      const { body } = await this.#client.request('GET', '/api/version', { answerMs: ANSWER_MS })
      this.#leftMs = leftMs ?? this.#leftMs
      this.#readAtMs = performance.now()
      const {
        lease_ms: leaseMs,
        major_tasks_per_project: perProject,
        major_tasks_per_night: perNight,
      } = body?.limits ?? {}
      this.#majorTasks = {
        ...(isCount(perProject) ? { perProject } : {}),
        ...(isCount(perNight) ? { perNight } : {}),
      }
      if (typeof leaseMs !== 'number') return
      this.#beatMs = Math.min(BEAT_MS_MAX, Math.max(BEAT_MS_MIN, leaseMs * SHARE))
    } catch {
      // Away, or an answer that is none: what was known is the best guess.
    }
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
