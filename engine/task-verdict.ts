/**
 * What settles a task: the `task_run_completed` that its command has stated, else the runner's own. A verdict that the service refused,
 * or whose line was too long to be read, is none: what the command meant by it is not known, so that the task is never `complete` for it.
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
  /** Why the last one that was stated is none, if one was. */
  #unheard: Failure | undefined

  constructor(options: TaskVerdictOptions) {
    this.#options = options
  }

  /** The service has taken one of the command's. */
  taken(): void {
    this.#isTaken = true
  }

  /** The service has refused one. */
  refused(refusal: ServiceRefused): void {
    const message = `the service refused ${TASK_VERDICT}: ${describeRefusal(refusal)}`
    this.#unheard = { class: 'execution', code: 'verdict_refused', message: message.slice(0, MESSAGE_CHARS_MAX) }
  }

  /** One may have been in a line that was too long. */
  unread(failure: Failure): void {
    this.#unheard = failure
  }

  /** States one for a command of which none was taken. Answers why the run has failed, if it has; never rejects. */
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
      // Once more without what the command has said of it.
      return said === undefined ? [] : [this.#own(failure, at, undefined)]
    }
    return outgoing({ event_type: TASK_VERDICT, occurred_at: at, payload }, { onRefused })
  }
}
