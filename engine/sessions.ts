/**
 * Agent sessions that a command has started and not ended: the runner adds their progress to its heartbeats, so that
 * one can see from afar that an agent is still writing. The transcript is read where the command said it is.
 */
import { stat } from 'node:fs/promises'

/** Most sessions in one heartbeat. */
const SESSIONS_MAX = 100

interface SessionPulse {
  readonly session_id: string
  readonly bytes_written?: number
  readonly last_output_at?: string
}

export class Sessions {
  /** The stated transcript path of each open session. */
  readonly #open = new Map<string, string | undefined>()

  /** Takes in an event that the command printed. */
  note({ event_type, payload }: Readonly<Record<string, unknown>>): void {
    const { session_id, source_log_path } = (payload ?? {}) as Readonly<Record<string, unknown>>
    if (typeof session_id !== 'string' || session_id === '') return
    if (event_type === 'agent_session_ended') this.#open.delete(session_id)
    else if (event_type === 'agent_session_started' && this.#open.size < SESSIONS_MAX)
      this.#open.set(session_id, typeof source_log_path === 'string' ? source_log_path : undefined)
  }

  get size(): number {
    return this.#open.size
  }

  /** The progress of each session. Never rejects: a missing transcript has no progress. */
  async pulses(): Promise<SessionPulse[]> {
    return await Promise.all(
      Array.from(this.#open, async ([session_id, path]) => ({ session_id, ...(await written(path)) })),
    )
  }
}

async function written(path: string | undefined): Promise<Partial<SessionPulse>> {
  if (path === undefined) return {}
  try {
    const { size, mtime } = await stat(path)
    return { bytes_written: size, last_output_at: mtime.toISOString() }
  } catch {
    return {}
  }
}
