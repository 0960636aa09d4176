/**
 * The request to stop the run. The stopping side signals the whole process group, so the agent gets the signal
 * directly. If it ignores the signal it is ended here, early enough to save its work before the runner's patience
 * (`--stop-grace`) ends.
 */

/** How long a command may go on after a stop, in milliseconds: the rest of `--stop-grace` is for saving the work. */
export const STOP_MS = 5_000

export class StopRequest {
  /** Nothing is begun, landed or reported any more. The work is still saved. */
  isMade = false
  #madeAtMs: number | undefined
  #end: (() => void) | undefined

  /** The runner has asked for a stop. */
  make(): void {
    this.isMade = true
    this.#madeAtMs ??= Date.now()
    setTimeout(() => this.#end?.(), STOP_MS).unref()
  }

  /** Nobody reads the run's output any more. There is no time limit, since nobody is waiting. */
  unheard(): void {
    this.isMade = true
  }

  /** Whether somebody waits for the run to end. */
  get isAwaited(): boolean {
    return this.#madeAtMs !== undefined
  }

  /** Whether the running command has used up its time. */
  get isOverdue(): boolean {
    return this.#madeAtMs !== undefined && Date.now() - this.#madeAtMs > STOP_MS
  }

  /** Sets how to end the current command, which is called when its time is up; undefined if none runs. */
  running(end: (() => void) | undefined): void {
    this.#end = end
  }
}
