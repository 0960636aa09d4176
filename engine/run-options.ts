/** What a runner gives to a run, and how the run ends. */
import type { Client } from './client.ts'
import type { Backoff } from './retry.ts'
import type { ServiceLimits } from './service-limits.ts'

export interface RunOptions {
  readonly client: Client
  readonly runnerId: string
  readonly command: string
  readonly cwd?: string
  readonly environment: NodeJS.ProcessEnv
  readonly backoff: Backoff
  readonly limits: ServiceLimits
  /** Interval between heartbeats in milliseconds, before jitter. Absent: derived from the lease. */
  readonly heartbeatMs?: number
  /** Whether the client's token is read anew for each request: a refused one may be about to be replaced. */
  readonly tokenMayChange: boolean
  /** Initial limit for the answer to a post, in milliseconds. */
  readonly answerMs?: number
  /** From SIGTERM to SIGKILL, in milliseconds. */
  readonly stopGraceMs: number
  /** How long a stopped run waits, once its command has ended, for its last posts to be taken, in milliseconds. */
  readonly lastPostsMs: number
  /** The run could not begin here: the next one would meet the same fault of this machine, runner or command. */
  readonly onNotBegun: () => void
  /** One line for the runner's log. */
  readonly log: (text: string) => void
}

/**
 * `released`: handed back before the command started. `abandoned`: the service refused (stale attempt, settled, token),
 * so nothing more may be posted about the run. `unreported`: the runner was stopped and the service did not take the
 * last post in time; it will declare the run lost.
 */
export type RunEnd = 'completed' | 'failed' | 'cancelled' | 'released' | 'abandoned' | 'unreported'
