/**
 * Backups of the running service: one at a time, whoever asked for it and whether or not they still wait; and the
 * outcome of recent ones. That outcome is kept in memory only: a complete backup is its folder.
 */
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Runtime } from '../../runtime/api.ts'
import { BackupAborted } from '../../storage/copies/backup.ts'
import { backupsPath } from '../../storage/home/home-paths.ts'
import { HomeRefused } from '../../storage/home/home-refused.ts'
import type { BackupReport } from '../../storage/journal.ts'
import { utcNow } from '../clock.ts'
import type { ProblemCode } from '../problems.ts'

/**
 * While a backup is copied the log's old pages are not freed: if the log grows by more than this, the backup is
 * aborted.
 */
const GROWTH_BYTES_MAX = 1024 ** 3
/** Number of ended backups to remember. */
const ENDED_MAX = 100

/** A backup as it is served. */
export interface BackupDocument {
  readonly name: string
  /** `damaged`: it exists, but the log it copies is damaged. */
  readonly state: 'running' | 'completed' | 'damaged' | 'failed'
  /** Its folder, even before that exists. */
  readonly path: string
  readonly begun_at: string
  readonly ended_at?: string
  readonly bytes?: number
  /** The last event that it is certain to hold. */
  readonly sequence?: number
  readonly failure?: { readonly code: ProblemCode; readonly message: string }
}

/** Digests of the caller's `Idempotency-Key` and of the body. */
interface Asked {
  readonly key: string
  readonly fingerprint: string
}

export interface Backup {
  document: BackupDocument
  /** Undefined if asked for without a key. */
  readonly asked: Asked | undefined
  /** Resolves when the backup is no longer running. */
  readonly ended: Promise<void>
}

export class Backups {
  readonly #runtime: Runtime
  readonly #log: Logger
  readonly #ended = new Map<string, Backup>()
  readonly #stop = new AbortController()
  #running: Backup | undefined

  /** The journal must be one that can be copied while it runs. */
  constructor(runtime: Runtime, log: Logger) {
    this.#runtime = runtime
    this.#log = log
  }

  get running(): BackupDocument | undefined {
    return this.#running?.document
  }

  /** The backup of that name; undefined if none began since the service started, or if it is no longer remembered. */
  find(name: string): BackupDocument | undefined {
    return this.#running?.document.name === name ? this.#running.document : this.#ended.get(name)?.document
  }

  /** The remembered backup that the key began and that has not failed. */
  findByKey(key: string): Backup | undefined {
    const isOf = (one: Backup): boolean => one.asked?.key === key && one.document.state !== 'failed'
    if (this.#running !== undefined && isOf(this.#running)) return this.#running
    return [...this.#ended.values()].findLast(isOf)
  }

  /** Begins a backup. Must only be called while none is running. */
  begin(name: string, asked?: Asked): Backup {
    const path = join(backupsPath(this.#runtime.settings.home), name)
    const document = { name, state: 'running', path, begun_at: this.#now() } as const
    let end = (): void => {}
    const begun: Backup = {
      document,
      asked,
      ended: new Promise((resolve) => {
        end = resolve
      }),
    }
    this.#running = begun
    const { signal } = this.#stop
    const giveUp = (): void => settle(GIVEN_UP)
    const settle = (outcome: Partial<BackupDocument>): void => {
      signal.removeEventListener('abort', giveUp)
      // It was reported as aborted before, and only now has the copy ended.
      if (begun.document.state !== 'running') return
      begun.document = { ...document, ...outcome, ended_at: this.#now() }
      this.#running = undefined
      const isThere = outcome.failure?.code === 'already_exists'
      // Keep what is remembered of the existing backup.
      if (!isThere || !this.#ended.has(name)) this.#keep(begun)
      end()
    }
    signal.addEventListener('abort', giveUp)
    void this.#make(begun, settle)
    return begun
  }

  /** The service is stopping: aborts the running backup and reports it as such, since nobody can wait for it. */
  close(): void {
    this.#stop.abort(new BackupAborted('the service is stopping'))
  }

  #now(): string {
    return utcNow({ runtime: this.#runtime })
  }

  async #make({ document: { path } }: Backup, settle: (outcome: Partial<BackupDocument>) => void): Promise<void> {
    try {
      const { bytes, sequence, faults } = await this.#copy(path)
      if (faults.length === 0) {
        settle({ state: 'completed', bytes, sequence })
        this.#log.info({ path, bytes, sequence }, 'backup completed')
      } else {
        settle({ ...damaged(path, faults), bytes, sequence })
        this.#log.error({ path, bytes, sequence, faults }, 'backup completed, but the log it copies is damaged')
      }
    } catch (error) {
      const outcome = this.#stop.signal.aborted ? GIVEN_UP : failed(error as Error)
      settle(outcome)
      if (outcome.failure?.code === 'backup_failed') this.#log.error({ err: error, path }, 'backup failed')
    }
  }

  #copy(path: string): Promise<BackupReport> {
    const { journal, settings } = this.#runtime
    const bounds = { growthBytesMax: GROWTH_BYTES_MAX, reserveBytes: settings.diskReserveBytes }
    return journal.backup!(path, bounds, this.#stop.signal)
  }

  #keep(one: Backup): void {
    const { name } = one.document
    this.#ended.delete(name)
    this.#ended.set(name, one)
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= ENDED_MAX) return
      this.#ended.delete(oldest)
    }
  }
}

function failed(error: Error): Partial<BackupDocument> {
  if (error instanceof HomeRefused && error.code === 'not_empty') {
    return failure('already_exists', 'A backup of that name already exists.')
  }
  return failure('backup_failed', error.message)
}

function damaged(path: string, faults: readonly string[]): Partial<BackupDocument> {
  const way = 'it can only be restored with --no-verify; keep earlier backups, which may be intact'
  const message = `The backup is in ${path}, but the log it copies is damaged: ${faults.join('; ')}. So ${way}.`
  return { ...failure('backup_damaged', message), state: 'damaged' }
}

const failure = (code: ProblemCode, message: string): Partial<BackupDocument> => ({
  state: 'failed',
  failure: { code, message },
})

const GIVEN_UP = failure('stopping', 'The service is stopping: the unfinished backup was abandoned.')

/** Undefined if the journal cannot be copied while it runs. */
export function backupsOf(runtime: Runtime, log: Logger): Backups | undefined {
  return runtime.journal.backup === undefined ? undefined : new Backups(runtime, log)
}
