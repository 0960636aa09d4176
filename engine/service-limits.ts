/**
 * The limits that the service states in GET /api/version: how long a lease lasts, hence how often to send heartbeats,
 * and how many major upgrades an engine's maintenance may dispatch. Answers give the end of a lease by the service's
 * clock, which may differ from ours; they only show whether its length has changed.
 */
import type { Client } from './client.ts'

/** A heartbeat is due after this share of the lease: two more fit in before it ends. */
const SHARE = 0.3
/**
 * Shortest interval between heartbeats, in milliseconds: a lease of 3 s, the shortest that the service allows, still
 * fits three.
 */
const BEAT_MS_MIN = 1_000
/**
 * Longest interval, in milliseconds: heartbeats also bring the news of a cancellation. What a lease of a minute, the
 * default, asks for.
 */
const BEAT_MS_MAX = 18_000
/** Leases that seem to differ by less, in milliseconds, only had answers that took longer to arrive. */
const SAME_MS = 2_000
/**
 * With a slow service each answer may look like a change: its limits are read no more often than this, in milliseconds.
 */
const READ_AGAIN_MS = 60_000
const ANSWER_MS = 5_000

/** What an engine's maintenance may dispatch. Unknown limits are absent: an older service does not state them. */
export interface MajorTasks {
  readonly perProject?: number
  readonly perNight?: number
}

export class ServiceLimits {
  readonly #client: Client
  #beatMs = BEAT_MS_MAX
  #majorTasks: MajorTasks = {}
  /** Time left of a lease, by our clock, in the answer for which its length was read. */
  #leftMs: number | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(client: Client) {
    this.#client = client
  }

  /** Interval between heartbeats, in milliseconds. */
  get beatMs(): number {
    return this.#beatMs
  }

  /** As last read, at most a minute ago if the service can be asked. Never rejects. */
  async majorTasks(): Promise<MajorTasks> {
    if (!this.#isFresh()) await this.#readOnce()
    return this.#majorTasks
  }

  /**
   * Takes the end of a lease (RFC 3339) from an answer. Resolves when its length is known, if it can be. Never rejects.
   */
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

  /** If the limits cannot be read they stay as they were, and are asked for again with the next answer. */
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
      // The service is away, or the answer is not usable: the known values are the best guess.
    }
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
