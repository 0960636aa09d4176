/** What a run is given by its runner, and how it ends. */
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
  /** Pause between heartbeats, milliseconds; jitter is taken off it. Absent: as the lease asks for. */
  readonly heartbeatMs?: number
  /** Whether the client's token is read anew for each request: one that is refused may be about to be replaced. */
  readonly tokenMayChange: boolean
  /** How long the answer to a post may take at first, milliseconds. */
  readonly answerMs?: number
  /** From SIGTERM to SIGKILL, milliseconds. */
  readonly stopGraceMs: number
  /** How long a stopped run waits for its last posts to be taken once its command is over, milliseconds. */
  readonly lastPostsMs: number
  /** The run could not begin here: the next one would meet the same fault of this machine, of this runner or of its command. */
  readonly onNotBegun: () => void
  /** One line for the runner's log. */
  readonly log: (text: string) => void
}

/**
 * `released`: handed back before the command started. `abandoned`: the service refused (stale attempt, settled,
 * token), so that nothing more may be said about the run. `untold`: the runner was stopped, and the service did not take the last
 * word in time: it will call the run lost.
 */
export type RunEnd = 'completed' | 'failed' | 'cancelled' | 'released' | 'abandoned' | 'untold'
