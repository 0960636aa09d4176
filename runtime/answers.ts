/**
 * How senders are answered. One sender's mistake is not the next one's: what a reply or a listener throws is
 * logged, and the others of its batch hear what they are to hear.
 */
import type { Answer, Refused, Reply } from './api.ts'
import type { Logger } from './log.ts'

export class Answers {
  private readonly log: Logger

  constructor(log: Logger) {
    this.log = log
  }

  give(reply: Reply, answer: Answer): void {
    this.guarded('a reply', () => reply(answer))
  }

  guarded(what: string, run: () => void): void {
    try {
      run()
    } catch (error) {
      this.log.error({ err: error }, `${what} threw`)
    }
  }
}

/** The service cannot do it now; it may later. */
export function unavailable(code: string, detail: string): Refused {
  return { ok: false, refusal: { code, detail }, retryAfterSeconds: 1 }
}
