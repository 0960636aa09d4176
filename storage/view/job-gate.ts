/**
 * State shared by two threads so that the process never ends in the middle of a job of its second thread. A thread
 * that is ended inside a transaction keeps LMDB's locks, and process exit then waits for them forever (one in forty
 * did).
 */
const IDLE = 0
const BUSY = 1
const SHUT = 2

export class JobGate {
  /** To pass to the other thread. */
  readonly shared: SharedArrayBuffer
  readonly #state: Int32Array

  /** A new gate is busy: the other thread leaves it once it has started. */
  constructor(shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    this.#state = new Int32Array(this.shared)
    if (shared === undefined) this.#state[0] = BUSY
  }

  /** Called by the worker before a job. False if no job may begin any more. */
  enter(): boolean {
    return Atomics.compareExchange(this.#state, 0, IDLE, BUSY) === IDLE
  }

  /** Called by the worker when the job is over. */
  leave(): void {
    Atomics.compareExchange(this.#state, 0, BUSY, IDLE)
    Atomics.notify(this.#state, 0)
  }

  /** True while a job is under way, or if one was when the thread ended. */
  get isBusy(): boolean {
    return Atomics.load(this.#state, 0) === BUSY
  }

  /** Blocks the calling thread until no job is under way, then lets no other begin. False if that takes too long. */
  shut(withinMs: number): boolean {
    const untilMs = performance.now() + withinMs
    while (Atomics.compareExchange(this.#state, 0, IDLE, SHUT) === BUSY) {
      const ms = untilMs - performance.now()
      if (ms <= 0) return false
      Atomics.wait(this.#state, 0, BUSY, ms)
    }
    return true
  }
}
