/**
 * What a command reports about its engine run as a whole: evidence observations, and a trace summary, of which the last
 * one counts. Posted during the run, beside its events. None is lost while the service is away, and a refused one is
 * reported as output.
 */
import { OBSERVATIONS_A_POST_MAX } from '../machines/bounds.ts'
import { occurredAt } from './clock.ts'
import { ServiceRefused } from './errors.ts'
import type { ExecutionRequest } from './execution-request.ts'
import { jsonText } from './json-text.ts'
import { outgoing, PostQueue } from './post-queue.ts'
import { concernsRun, type RunPosts } from './run-posts.ts'

interface FindingsOptions {
  readonly posts: RunPosts
  readonly request: ExecutionRequest
  /** The engine run that they are about. */
  readonly engineRunId: string
  /** Too much is held (true), or there is room again (false). */
  readonly onPressure: (full: boolean) => void
  /** The service accepts nothing more from this runner about the run. */
  readonly onEnded: (error: unknown) => void
  /** The service refused the content of a line. */
  readonly onRefused: (line: string, refusal: ServiceRefused) => void
}

export class Findings {
  readonly #options: FindingsOptions
  readonly #observations: PostQueue
  /** The newest summary not yet being posted. */
  #summary: { readonly line: string; readonly body: string } | undefined
  #summing: Promise<void> | undefined

  constructor(options: FindingsOptions) {
    this.#options = options
    const { posts, engineRunId, onPressure, onEnded } = options
    this.#observations = new PostQueue({
      post: (texts) => posts.about(engineRunId, 'evidence-observations', `{"observations":[${texts.join(',')}]}`),
      batchMax: OBSERVATIONS_A_POST_MAX,
      concernsRun: endsRun,
      onPressure,
      onEnded,
    })
  }

  /** Queues an observation, with the line that stated it. Time and trace are filled in if they are missing. */
  observe({ schema_version: _, ...said }: Record<string, unknown>, line: string): void {
    const traceId = this.#options.request.trace?.trace_id
    const observation = { observed_at: occurredAt(), ...(traceId === undefined ? {} : { trace_id: traceId }), ...said }
    this.#observations.add(
      outgoing(observation, {
        onRefused: (refusal) => {
          this.#options.onRefused(line, refusal)
          return []
        },
      }),
    )
  }

  summarize(said: Record<string, unknown>, line: string): void {
    this.#summary = { line, body: jsonText(said) }
    this.#summing ??= this.#postSummaries()
  }

  /** Resolves when everything reported so far is taken or refused. Never rejects. */
  async empty(): Promise<void> {
    await this.#observations.empty()
    await this.#summing
  }

  async #postSummaries(): Promise<void> {
    const { posts, engineRunId, onRefused, onEnded } = this.#options
    try {
      while (this.#summary !== undefined) {
        const { line, body } = this.#summary
        this.#summary = undefined
        try {
          await posts.about(engineRunId, 'trace-summary', body)
        } catch (error) {
          if (!(error instanceof ServiceRefused) || endsRun(error)) throw error
          onRefused(line, error)
        }
      }
    } catch (error) {
      onEnded(error)
    } finally {
      this.#summing = undefined
    }
  }
}

/** A conflict concerns the content (too many observations), not the attempt: an engine run has only one attempt. */
function endsRun(refusal: ServiceRefused): boolean {
  return refusal.problem.status !== 409 && concernsRun(refusal)
}
