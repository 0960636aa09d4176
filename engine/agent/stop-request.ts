/**
 * That the run is to end. Whoever asks for it signals the whole group of processes, so that the agent hears it by itself; what does
 * not heed it is ended here, in time for its work to be kept before the runner's patience (`--stop-grace`) is over.
 */

/** How long what runs may go on after a stop, milliseconds: the rest of `--stop-grace` is for keeping what was done. */
const STOP_MS = 5_000

export class StopRequest {
  /** Nothing is begun, landed or told any more. What was done is still kept. */
  isMade = false
  #madeAtMs: number | undefined
  #end: (() => void) | undefined

  /** The runner has asked for it. */
  make(): void {
    this.isMade = true
    this.#madeAtMs ??= Date.now()
    setTimeout(() => this.#end?.(), STOP_MS).unref()
  }

  /** Nobody hears any more what becomes of the run. It has its time: who would wait for it is gone. */
  unheard(): void {
    this.isMade = true
  }

  /** Whether somebody waits for the end. */
  get isAwaited(): boolean {
    return this.#madeAtMs !== undefined
  }

  /** What runs has had its time. */
  get isOverdue(): boolean {
    return this.#madeAtMs !== undefined && Date.now() - this.#madeAtMs > STOP_MS
  }

  /** How to end what runs now, which is called once that is overdue; undefined: nothing runs. */
  running(end: (() => void) | undefined): void {
    this.#end = end
  }
}
