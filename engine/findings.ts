/**
 * What a command says about its engine run as a whole: observations of evidence, and a trace summary of which the last one
 * counts. They go out while the run is under way, beside its events; none of them is lost while the service is away,
 * and a refused one is told in words.
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
  /** More is held than should be (true), or there is room again (false). */
  readonly onPressure: (full: boolean) => void
  /** The service wants nothing more of this runner about the run. */
  readonly onEnded: (error: unknown) => void
  /** The service finds fault with what a line said. */
  readonly onRefused: (line: string, refusal: ServiceRefused) => void
}

export class Findings {
  readonly #options: FindingsOptions
  readonly #observations: PostQueue
  /** The newest summary that is not under way yet. */
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

  /** An observation, and the line that it was said in. When it was seen, and in which trace, need not be said. */
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

  /** Resolves when everything said so far is taken or refused. Never rejects. */
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

/** A conflict is about what was said (there are too many observations), not about the attempt: an engine run has but one. */
function endsRun(refusal: ServiceRefused): boolean {
  return refusal.problem.status !== 409 && concernsRun(refusal)
}
