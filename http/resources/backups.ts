/**
 * Backups of the running service: one at a time, whoever asked for it and whether or not they still wait; and the
 * outcome of recent ones. A complete backup is its folder, whose manifest also records who asked for it. All manifests
 * are read at start, so an `Idempotency-Key` outlasts the process. An interrupted backup has no folder and no manifest.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Runtime } from '../../runtime/api.ts'
import { BackupAborted } from '../../storage/copies/backup.ts'
import { outcomeIn } from '../../storage/copies/backup-manifest.ts'
import { backupsPath } from '../../storage/home/home-paths.ts'
import { HomeRefused } from '../../storage/home/home-refused.ts'
import { utcNow } from '../clock.ts'
import type { ProblemCode } from '../problems.ts'

/**
 * While a backup is copied the log's old pages are not freed: if the log grows by more than this, the backup is
 * aborted.
 */
const GROWTH_BYTES_MAX = 1024 ** 3
/** Number of ended backups to remember; beyond it, only those whose key is still kept. */
const ENDED_MAX = 100
/** Valid names of backups. */
export const BACKUP_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'
const NAME = new RegExp(BACKUP_NAME)

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

/** What Backups keeps in the manifest of a backup. */
interface Note {
  readonly begun_at: string
  readonly ended_at: string
  readonly asked?: Asked
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
    for (const one of standing(backupsPath(runtime.settings.home), log)) this.#keep(one)
  }

  get running(): BackupDocument | undefined {
    return this.#running?.document
  }

  /** The backup of that name; undefined if there is none, or if it is no longer remembered. */
  find(name: string): BackupDocument | undefined {
    return this.#running?.document.name === name ? this.#running.document : this.#ended.get(name)?.document
  }

  /** The backup that the key began and that has not failed, for as long as keys are kept. */
  findByKey(key: string): Backup | undefined {
    const isOf = (one: Backup): boolean => one.asked?.key === key && this.#keepsKey(one)
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
      begun.document = { ...document, ended_at: this.#now(), ...outcome }
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

  async #make({ document, asked }: Backup, settle: (outcome: Partial<BackupDocument>) => void): Promise<void> {
    const { path, begun_at } = document
    const { journal, settings } = this.#runtime
    const bounds = { growthBytesMax: GROWTH_BYTES_MAX, reserveBytes: settings.diskReserveBytes }
    let ended_at: string | undefined
    const note = (): Note => {
      ended_at = this.#now()
      return { begun_at, ended_at, ...(asked === undefined ? {} : { asked }) }
    }
    try {
      const { bytes, sequence, faults } = await journal.backup!(path, bounds, this.#stop.signal, note)
      settle({ ...made(path, faults), ended_at: ended_at!, bytes, sequence })
      if (faults.length === 0) this.#log.info({ path, bytes, sequence }, 'backup completed')
      else this.#log.error({ path, bytes, sequence, faults }, 'backup completed, but the log it copies is damaged')
    } catch (error) {
      const outcome = this.#stop.signal.aborted ? GIVEN_UP : failed(error as Error)
      settle(outcome)
      if (outcome.failure?.code === 'backup_failed') this.#log.error({ err: error, path }, 'backup failed')
    }
  }

  #keep(one: Backup): void {
    const { name } = one.document
    this.#ended.delete(name)
    this.#ended.set(name, one)
    for (const [oldest, ended] of this.#ended) {
      if (this.#ended.size <= ENDED_MAX) return
      if (ended.asked === undefined || !this.#keepsKey(ended)) this.#ended.delete(oldest)
    }
  }

  /** Whether the key that asked for the backup still gets it as the answer. One that failed may be asked for again. */
  #keepsKey({ document: { state, ended_at } }: Backup): boolean {
    const { platform, settings } = this.#runtime
    const isOver = ended_at !== undefined && platform.wallMs() >= Date.parse(ended_at) + settings.idempotencyMs
    return state !== 'failed' && !isOver
  }
}

/** The backups in `folder` whose manifest records how they were made, ordered by when they ended. */
function standing(folder: string, log: Logger): readonly Backup[] {
  const found: Backup[] = []
  for (const name of namesIn(folder, log)) {
    const path = join(folder, name)
    try {
      const outcome = outcomeIn(path)
      if (outcome?.note === undefined) continue
      const { sequence, faults, bytes } = outcome
      const { begun_at, ended_at, asked } = outcome.note as Note
      const document = { name, path, begun_at, ended_at, ...made(path, faults), bytes, sequence }
      found.push({ document, asked, ended: Promise.resolve() })
    } catch (error) {
      log.warn({ err: error, path }, 'what a backup says of itself cannot be read')
    }
  }
  return found.sort((a, b) => Date.parse(a.document.ended_at!) - Date.parse(b.document.ended_at!))
}

function namesIn(folder: string, log: Logger): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => NAME.test(name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      log.warn({ err: error, folder }, 'the backups cannot be read')
    return []
  }
}

/** The state of a complete backup. */
function made(path: string, faults: readonly string[]): Pick<BackupDocument, 'state' | 'failure'> {
  return faults.length === 0 ? { state: 'completed' } : damaged(path, faults)
}

function failed(error: Error): Partial<BackupDocument> {
  if (error instanceof HomeRefused && error.code === 'not_empty') {
    return failure('already_exists', 'A backup of that name already exists.')
  }
  return failure('backup_failed', error.message)
}

function damaged(path: string, faults: readonly string[]): Pick<BackupDocument, 'state' | 'failure'> {
  const way = 'it can only be restored with --no-verify; keep earlier backups, which may be intact'
  const message = `The backup is in ${path}, but the log it copies is damaged: ${faults.join('; ')}. So ${way}.`
  return { ...failure('backup_damaged', message), state: 'damaged' }
}

const failure = (code: ProblemCode, message: string): Pick<BackupDocument, 'state' | 'failure'> => ({
  state: 'failed',
  failure: { code, message },
})

const GIVEN_UP = failure('stopping', 'The service is stopping: the unfinished backup was abandoned.')

/** Undefined if the journal cannot be copied while it runs. */
export function backupsOf(runtime: Runtime, log: Logger): Backups | undefined {
  return runtime.journal.backup === undefined ? undefined : new Backups(runtime, log)
}
