/**
 * The thread that writes the view and runs the forgetter. In the main thread the forgetter took a fifth of the time,
 * and calls waited 20 ms and more for each of its steps; the writes of a fold blocked them as long. The thread starts
 * with its first job, so a service with little to write and nothing to forget has none.
 */
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { RemovedEntity } from '../journal.ts'
import type { Forgetter, Look, TrimCandidates } from '../retention/forgetter.ts'
import { JobGate } from './job-gate.ts'
import { NotBegun, type PackedRows, type Sending } from './recorded-tables.ts'
import type { OnRepeat } from './repeated-commit.ts'

/**
 * How long process exit waits for a job under way. A job takes some 50 ms, more for a large fold on a slow disk; a
 * thread takes a second to start.
 */
const END_MS_MAX = 5_000
/**
 * How long to wait, after a thread could not be started or has ended, before starting one for writes that can do
 * without it.
 */
const REST_MS = 60_000

/** Few texts are alive at once. */
const YOUNG_MB_MAX = 16

const ENDED = 'the view writer thread ended'

/** What the thread starts with. */
export interface ThreadStart {
  readonly home: string
  readonly gate: SharedArrayBuffer
}

/** `commit` writes the rows that were sent under a number. */
type Job = Exclude<keyof Forgetter, 'close'> | 'commit'

export interface JobRequest {
  readonly id: number
  readonly job: Job
  readonly argument: unknown
}

/** Rows for a commit that is asked for later; null if it is abandoned. */
export interface StagedRows {
  readonly commit: number
  readonly rows: PackedRows | null
}

interface Failed {
  readonly name: string
  readonly message: string
  readonly code: unknown
}

/** `repeated`: a commit that LMDB gave up without reason was made again. */
export type ThreadMessage =
  | 'begun'
  | { readonly repeated: string }
  | { readonly id: number; readonly result?: unknown; readonly error?: Failed }

interface Waiting {
  readonly resolve: (result: any) => void
  readonly reject: (error: Error) => void
}

/** Receives failures that were recovered from. */
interface ViewThreadEvents {
  readonly onRepeat: OnRepeat
  /**
   * The thread could not be started, or has ended. Writes that it had not begun are made without it, and its other
   * jobs are asked for again. The outcome of a job under way is unknown, which ends the journal.
   */
  readonly onThreadEnd: (failure: Error) => void
}

export class ViewThread implements Forgetter {
  readonly #home: string
  readonly #told: ViewThreadEvents
  readonly #onWritten: () => void
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  /** The thread has opened its environments. */
  #hasBegun = false
  #isClosing = false
  /** In milliseconds of the monotonic clock. */
  #restsUntilMs = 0
  #lastId = 0
  #lastCommit = 0

  /** @param onWritten called when the view thread has changed the tables. */
  constructor(home: string, told: ViewThreadEvents, onWritten: () => void) {
    this.#home = home
    this.#told = told
    this.#onWritten = onWritten
  }

  look(at: Look): Promise<TrimCandidates> {
    return this.#ask('look', at)
  }

  async removeEvents(next: number): Promise<boolean> {
    const isRemoved = await this.#ask<boolean>('removeEvents', next)
    this.#onWritten()
    return isRemoved
  }

  async removeEntities(entities: readonly RemovedEntity[]): Promise<number> {
    if (entities.length === 0) return 0
    const removed = await this.#ask<number>('removeEntities', entities)
    this.#onWritten()
    return removed
  }

  /**
   * Begins a commit, whose rows are written in one transaction, in the order sent. Undefined while the thread is still
   * starting, or if it could not be started for want of files, threads or memory.
   */
  begin(): Sending | undefined {
    const worker = this.#startedInTime()
    if (worker === undefined || !this.#hasBegun) return undefined
    const commit = ++this.#lastCommit
    const post = (rows: PackedRows | null) => worker.postMessage({ commit, rows } satisfies StagedRows)
    return {
      send: post,
      drop: () => post(null),
      commit: async () => {
        // A new thread has not received the rows.
        if (this.#worker !== worker) throw new NotBegun(ENDED)
        await this.#tell('commit', commit)
        this.#onWritten()
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage('close')
    await ended
  }

  /**
   * If a thread ends before it began the job, asks the next one, once. Jobs do not depend on what earlier threads were
   * asked.
   */
  async #ask<Result>(job: Job, argument: unknown): Promise<Result> {
    try {
      return await this.#tell<Result>(job, argument)
    } catch (error) {
      if (!(error instanceof NotBegun)) throw error
      return this.#tell<Result>(job, argument)
    }
  }

  async #tell<Result>(job: Job, argument: unknown): Promise<Result> {
    const worker = this.#started()
    const id = ++this.#lastId
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      worker.ref()
      worker.postMessage({ id, job, argument } satisfies JobRequest)
    })
  }

  /** Throws NotBegun if the system cannot start a thread. */
  #started(): Worker {
    try {
      this.#worker ??= this.#start()
    } catch (error) {
      throw new NotBegun((error as Error).message, { cause: error })
    }
    return this.#worker
  }

  #startedInTime(): Worker | undefined {
    if (this.#worker !== undefined || performance.now() < this.#restsUntilMs) return this.#worker
    try {
      this.#worker = this.#start()
    } catch (error) {
      this.#rest(error as Error)
    }
    return this.#worker
  }

  #rest(failure: Error): void {
    this.#restsUntilMs = performance.now() + REST_MS
    this.#told.onThreadEnd(failure)
  }

  #start(): Worker {
    const gate = new JobGate()
    // A command-line setting for the young generation applies to every thread started from then on; the main thread
    // keeps its own.
    setFlagsFromString('--max-semi-space-size=0')
    const workerData: ThreadStart = { home: this.#home, gate: gate.shared }
    const worker = new Worker(new URL('./view-worker.js', import.meta.url), {
      workerData,
      name: 'view',
      // The process's own options are for its main thread.
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX },
    })
    // An idle thread does not keep the process alive.
    worker.unref()
    // Ended inside a transaction, it would keep LMDB's lock, and the process would wait for it forever.
    const shut = () => {
      if (!gate.shut(END_MS_MAX)) process.kill(process.pid, 'SIGKILL')
    }
    process.once('exit', shut)
    let failure = new Error(ENDED)
    worker.on('message', (told: ThreadMessage) => this.#hear(told))
    worker.on('error', (error) => {
      failure = error
    })
    worker.once('exit', () => {
      process.off('exit', shut)
      this.#worker = undefined
      // A thread that failed to open its environments was at no job, although its gate is still busy as created.
      const mayBeAskedAgain = (!gate.isBusy || !this.#hasBegun) && !this.#isClosing
      this.#hasBegun = false
      const ended = mayBeAskedAgain ? new NotBegun(failure.message, { cause: failure }) : failure
      for (const { reject } of this.#waiting.values()) reject(ended)
      this.#waiting.clear()
      if (!this.#isClosing) this.#rest(failure)
    })
    return worker
  }

  #hear(told: ThreadMessage): void {
    if (told === 'begun') {
      this.#hasBegun = true
      return
    }
    if ('repeated' in told) {
      this.#told.onRepeat(new Error(told.repeated))
      return
    }
    const waiting = this.#waiting.get(told.id)
    this.#waiting.delete(told.id)
    if (this.#waiting.size === 0) this.#worker?.unref()
    if (told.error === undefined) waiting?.resolve(told.result)
    else waiting?.reject(Object.assign(new Error(told.error.message), { name: told.error.name, code: told.error.code }))
  }
}
