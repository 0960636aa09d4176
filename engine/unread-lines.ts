/**
 * Lines that are too long to be read: they are output like any text, but one of them may have been the command's word on
 * how its run ended. That is looked for in their pieces, so that a run whose word was not read does not pass as one that had none.
 */
import { isRunResult, LINE_CHARS_MAX, type Line } from './output.ts'
import type { Failure } from './result.ts'
import { TASK_VERDICT } from './task-verdict.ts'

/** A member that says what an object is. Within a text that quotes one there are backslashes before its quotes. */
const NAMING = /(?<!\\)"(?:event_type|schema_version)"\s*:\s*"([\w.-]{1,128})"/g
/** More than such a member takes, so that one that is cut in two is found. */
const TAIL_CHARS = 512

interface UnreadOptions {
  /** One was perhaps `task_run_completed`. */
  readonly onVerdict: (failure: Failure) => void
  /** One line for whoever looks after the run. */
  readonly tell: (message: string) => void
}

export class UnreadLines {
  /** Why the run has failed whatever its exit code: one was perhaps a Run Result. Whoever reads another behind it takes it back. */
  result: Failure | undefined
  readonly #options: UnreadOptions
  /** The end of the piece before, and what was named in the line so far; undefined where it is no object. */
  #line: { tail: string; readonly named: Set<string> } | undefined
  #isWithin = false

  constructor(options: UnreadOptions) {
    this.#options = options
  }

  /** The next piece of a line that is not whole. */
  piece({ text, ended }: Line): void {
    // What begins otherwise would have been text however short.
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
    const message = `a line of more than ${LINE_CHARS_MAX} characters is not read: it names ${name}`
    const failure: Failure = { class: 'execution', code: 'line_too_long', message }
    if (name === TASK_VERDICT) this.#options.onVerdict(failure)
    if (isRunResult(name)) this.result = failure
    this.#options.tell(message)
  }
}
