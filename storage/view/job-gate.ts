/**
 * What two threads share so that a process never ends in the middle of a job of its second thread: a thread that is
 * ended inside a transaction keeps LMDB's locks, and the end of the process waits for them for ever (one in forty did).
 */
const IDLE = 0
const BUSY = 1
const SHUT = 2

export class JobGate {
  /** To hand to the other thread. */
  readonly shared: SharedArrayBuffer
  readonly #state: Int32Array

  /** A new gate is busy: the other thread leaves it when it has begun. */
  constructor(shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    this.#state = new Int32Array(this.shared)
    if (shared === undefined) this.#state[0] = BUSY
  }

  /** Called by who works. False: no job may begin any more. */
  enter(): boolean {
    return Atomics.compareExchange(this.#state, 0, IDLE, BUSY) === IDLE
  }

  /** Called by who works, when the job is over. */
  leave(): void {
    Atomics.compareExchange(this.#state, 0, BUSY, IDLE)
    Atomics.notify(this.#state, 0)
  }

  /** A job is under way, or was when the thread ended. */
  get isBusy(): boolean {
    return Atomics.load(this.#state, 0) === BUSY
  }

  /** Stops the thread that calls until no job is under way, and lets none begin. False: not within that time. */
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
