/**
 * The thread that writes the view and forgets. Where the forgetter ran in the main thread it took a fifth of it, and calls waited 20 ms
 * and more for each of its steps; what a fold writes stood in their way for as long. The thread begins with the first job, and a
 * service that has little to write and nothing to forget has none.
 */
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { RemovedEntity } from '../journal.ts'
import type { Forgetter, Look, Oldest } from '../retention/forgetter.ts'
import { JobGate } from './job-gate.ts'
import { NotBegun, type PackedRows, type Sending } from './recorded-tables.ts'
import type { OnRepeat } from './repeated-commit.ts'

/** For who ends the process while a job is under way: it takes some 50 ms, a large fold on a slow disk longer, and the thread a second to begin. */
const END_MS_MAX = 5_000
/** Until a thread that could not be started, or has ended, is started again for what can be written without it. */
const REST_MS = 60_000

/** Few texts live at once. */
const YOUNG_MB_MAX = 16

const ENDED = 'the thread that writes the view has ended'

/** What the thread begins with. */
export interface Begun {
  readonly home: string
  readonly gate: SharedArrayBuffer
}

/** `commit` is of the rows that were sent under a number. */
type Job = Exclude<keyof Forgetter, 'close'> | 'commit'

export interface Asked {
  readonly id: number
  readonly job: Job
  readonly argument: unknown
}

/** Rows of a commit that is asked for later; null: it will not be. */
export interface Sent {
  readonly commit: number
  readonly rows: PackedRows | null
}

interface Failed {
  readonly name: string
  readonly message: string
  readonly code: unknown
}

/** `repeated`: a commit that LMDB gave up for nothing was made again. */
export type Told =
  | 'begun'
  | { readonly repeated: string }
  | { readonly id: number; readonly result?: unknown; readonly error?: Failed }

interface Waiting {
  readonly resolve: (result: any) => void
  readonly reject: (error: Error) => void
}

/** Told of what went wrong and was made good. */
interface TellsOfView {
  readonly onRepeat: OnRepeat
  /**
   * The thread could not be started, or has ended by itself: what it had not begun to write is written without it, and what else it was
   * asked for is asked again. What it was at cannot be told from what is written, and is the end of the journal.
   */
  readonly onThreadEnd: (failure: Error) => void
}

export class ViewThread implements Forgetter {
  readonly #home: string
  readonly #told: TellsOfView
  readonly #onWritten: () => void
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  /** It has opened what it works on. */
  #hasBegun = false
  #isClosing = false
  /** By the monotonic clock. */
  #restsUntilMs = 0
  #lastId = 0
  #lastCommit = 0

  /** @param onWritten the tables have changed behind the back of this thread. */
  constructor(home: string, told: TellsOfView, onWritten: () => void) {
    this.#home = home
    this.#told = told
    this.#onWritten = onWritten
  }

  look(at: Look): Promise<Oldest> {
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
   * Begins a commit. Its rows are put in one transaction, in the order in which they are sent. Undefined: the thread is only being
   * started, which takes a while, or could not be, for want of files, threads or memory.
   */
  begin(): Sending | undefined {
    const worker = this.#startedInTime()
    if (worker === undefined || !this.#hasBegun) return undefined
    const commit = ++this.#lastCommit
    const post = (rows: PackedRows | null) => worker.postMessage({ commit, rows } satisfies Sent)
    return {
      send: post,
      drop: () => post(null),
      commit: async () => {
        // Another one knows nothing of what was sent.
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

  /** Asks the next thread, once, where one has ended before it began: none needs to know what the one before was asked. */
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
      worker.postMessage({ id, job, argument } satisfies Asked)
    })
  }

  /** Throws NotBegun where the system gives none. */
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
    // What the command line says of the young generation holds for every thread that begins from then on; the main thread keeps what it has.
    setFlagsFromString('--max-semi-space-size=0')
    const workerData: Begun = { home: this.#home, gate: gate.shared }
    const worker = new Worker(new URL('./view-worker.js', import.meta.url), {
      workerData,
      name: 'view',
      // What the process was started with is for its main thread.
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX },
    })
    // Without a job it keeps no process from its end.
    worker.unref()
    // Ended inside a transaction it would keep LMDB's lock, and the process would wait for that for ever.
    const shut = () => {
      if (!gate.shut(END_MS_MAX)) process.kill(process.pid, 'SIGKILL')
    }
    process.once('exit', shut)
    let failure = new Error(ENDED)
    worker.on('message', (told: Told) => this.#hear(told))
    worker.on('error', (error) => {
      failure = error
    })
    worker.once('exit', () => {
      process.off('exit', shut)
      this.#worker = undefined
      // One that could not even open what it works on was at no job, though its gate is as it was made.
      const mayBeAskedAgain = (!gate.isBusy || !this.#hasBegun) && !this.#isClosing
      this.#hasBegun = false
      const ended = mayBeAskedAgain ? new NotBegun(failure.message, { cause: failure }) : failure
      for (const { reject } of this.#waiting.values()) reject(ended)
      this.#waiting.clear()
      if (!this.#isClosing) this.#rest(failure)
    })
    return worker
  }

  #hear(told: Told): void {
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
