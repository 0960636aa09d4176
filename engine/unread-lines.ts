/**
 * Lines too long to be parsed: they are output like any text, but one of them may have been the command's statement of
 * how its run ended. Their pieces are searched for that, so that such a run does not pass as one that stated nothing.
 */
import { isRunResult, LINE_CHARS_MAX, type Line } from './output.ts'
import type { Failure } from './result.ts'
import { TASK_VERDICT } from './task-verdict.ts'

/** The member that names a document's kind. In a quoted document the quotes are preceded by backslashes. */
const NAMING = /(?<!\\)"(?:event_type|schema_version)"\s*:\s*"([\w.-]{1,128})"/g
/** Longer than such a member, so that one cut in two is found. */
const TAIL_CHARS = 512

interface UnreadOptions {
  /** A line may have been `task_run_completed`. */
  readonly onVerdict: (failure: Failure) => void
  /** One line for whoever looks after the run. */
  readonly tell: (message: string) => void
}

export class UnreadLines {
  /**
   * Why the run has failed whatever its exit code: a line may have been a Run Result. Cleared if a later Run Result is
   * read.
   */
  result: Failure | undefined
  readonly #options: UnreadOptions
  /** The end of the piece before, and the names found in the line so far; undefined if the line is no object. */
  #line: { tail: string; readonly named: Set<string> } | undefined
  #isWithin = false

  constructor(options: UnreadOptions) {
    this.#options = options
  }

  /** The next piece of an incomplete line. */
  piece({ text, ended }: Line): void {
    // A line that begins otherwise is plain text, however long.
    if (!this.#isWithin) this.#line = text.trimStart().startsWith('{') ? { tail: '', named: new Set() } : undefined
    this.#isWithin = !ended
    const line = this.#line
    if (line === undefined) return
    const seen = line.tail + text
    for (const [, name = ''] of seen.matchAll(NAMING)) {
      if (!line.named.has(name)) this.#named(name)
      line.named.add(name)
    }
    line.tail = seen.slice(-TAIL_CHARS)
  }

  #named(name: string): void {
    const message = `a line of more than ${LINE_CHARS_MAX} characters was ignored: it names ${name}`
    const failure: Failure = { class: 'execution', code: 'line_too_long', message }
    if (name === TASK_VERDICT) this.#options.onVerdict(failure)
    if (isRunResult(name)) this.result = failure
    this.#options.tell(message)
  }
}
