/**
 * What settles a task: the `task_run_completed` stated by its command, else the runner's own. A verdict that the
 * service refused, or whose line was too long to read, does not count: since its meaning is unknown, the task is never
 * `complete` then.
 */
import { describeRefusal, type ServiceRefused } from './errors.ts'
import type { ExecutionRequest } from './execution-request.ts'
import { type OutgoingEvent, outgoing, type PostQueue } from './post-queue.ts'
import { type CommandStory, type Failure, isTask, MESSAGE_CHARS_MAX, taskResult } from './result.ts'

export const TASK_VERDICT = 'task_run_completed'

interface TaskVerdictOptions {
  readonly request: ExecutionRequest
  readonly queue: PostQueue
  readonly log: (text: string) => void
}

export class TaskVerdict {
  readonly #options: TaskVerdictOptions
  #isTaken = false
  /** Why the last stated verdict does not count, if there was one. */
  #unheard: Failure | undefined

  constructor(options: TaskVerdictOptions) {
    this.#options = options
  }

  /** The service has taken a verdict of the command. */
  taken(): void {
    this.#isTaken = true
  }

  /** The service has refused one. */
  refused(refusal: ServiceRefused): void {
    const message = `the service refused ${TASK_VERDICT}: ${describeRefusal(refusal)}`
    this.#unheard = { class: 'execution', code: 'verdict_refused', message: message.slice(0, MESSAGE_CHARS_MAX) }
  }

  /** A line that was too long may have held one. */
  unread(failure: Failure): void {
    this.#unheard = failure
  }

  /** States a verdict for a command of which none was taken. Resolves to the run's failure, if any; never rejects. */
  async settle(failure: Failure | undefined, { at, said = {} }: CommandStory): Promise<Failure | undefined> {
    const { request, queue } = this.#options
    if (!isTask(request) || this.#isTaken) return failure
    queue.add(this.#own(failure, at, said))
    await queue.empty()
    return failure ?? this.#unheard
  }

  #own(failure: Failure | undefined, at: string, said: CommandStory['said']): OutgoingEvent {
    const { request, log } = this.#options
    const payload = taskResult(request, failure ?? this.#unheard, said)
    const onRefused = (refusal: ServiceRefused): OutgoingEvent[] => {
      this.refused(refusal)
      log(`the service refused the runner's ${TASK_VERDICT}: ${describeRefusal(refusal)}`)
      // Once more, without what the command stated.
      return said === undefined ? [] : [this.#own(failure, at, undefined)]
    }
    return outgoing({ event_type: TASK_VERDICT, occurred_at: at, payload }, { onRefused })
  }
}
