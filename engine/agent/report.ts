/**
 * Output for the runner: events and the Run Result as JSON lines on standard output; notes for people on standard
 * error, where the output of git, the agent and the gate goes, too.
 */
import type { Writable } from 'node:stream'
import { NOT_BEGUN } from '../../machines/run-request/failure.ts'
import { jsonText } from '../json-text.ts'
import { type Failure, RUN_RESULT_SCHEMA } from '../result.ts'

export class Report {
  readonly #stdout: Writable
  readonly #stderr: Writable
  /** The Run Result so far. */
  #said: Readonly<Record<string, unknown>> = {}

  constructor(stdout: Writable, stderr: Writable) {
    this.#stdout = stdout
    this.#stderr = stderr
  }

  event(event_type: string, payload: object): void {
    this.#line({ event_type, payload })
  }

  /** Adds members to the Run Result, of which the last line counts. */
  result(members: Readonly<Record<string, unknown>>): void {
    this.#said = { ...this.#said, ...members }
    this.#line({ schema_version: RUN_RESULT_SCHEMA, ...this.#said })
  }

  failure(failure: Failure): void {
    this.result({ failure })
  }

  /** Reports that nothing was done. */
  notBegun(code: string, message: string): void {
    this.failure({ class: NOT_BEGUN, code, message })
  }

  note(text: string): void {
    this.#stderr.write(`${text}\n`)
  }

  /** Runs a dispensable clean-up; a failure is only noted. */
  quietly(tidy: () => void): void {
    try {
      tidy()
    } catch (error) {
      this.note((error as Error).message)
    }
  }

  #line(said: object): void {
    this.#stdout.write(`${jsonText(said)}\n`)
  }
}
