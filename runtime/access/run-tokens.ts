/**
 * Tokens of runs: what a run's command calls the service with. A token is derived, not stored: it names the run request,
 * the attempt and when the request was made, and an HMAC shows that this service gave it out. Whether it still admits
 * its holder is read from committed state: that attempt is accepted or started, and its runner's runs have rights. So it
 * ends with the run, and nothing needs to be kept of it but what is in use.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { ID_DIGITS } from '../../machines/ids.ts'
import { instantMs } from '../../machines/instant.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRight } from '../../machines/rights.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { isWorking } from '../../machines/run-request/states.ts'
import { worksFor } from '../../machines/runner/projects.ts'
import type { CommittedStep, Runtime } from '../api.ts'
import { readable } from '../reader.ts'
import { type Entry, newEntry } from './principal.ts'

/** Lets a person, or a scanner for leaked secrets, recognize it, and tells it from a stored token. */
export const RUN_TOKEN_PREFIX = 'irt_'
const ID_PREFIX = 'runreq_'
/** What the token names (`namedBy`), beginning with the digits of the request's id; HMAC-SHA-256 in base64url. */
const RUN_TOKEN = new RegExp(`^${RUN_TOKEN_PREFIX}(([0-9a-f]{${ID_DIGITS}})_\\d{1,9}_\\d{1,16})_([A-Za-z0-9_-]{43})$`)

/** The key cannot be written: whoever needs it may try again once the disk takes writes. */
export class RunKeyFailure extends Error {
  override readonly name = 'RunKeyFailure'
}

export interface RunKeyStore {
  /** The key; undefined if there is none yet. Throws HomeRefused or file system errors. */
  read(): Buffer | undefined
  /** Makes a key, which is on disk when this returns. Throws RunKeyFailure. */
  make(): Buffer
}

type RunRequestSnapshot = SnapshotOf<RunRequestContext>

interface InUse {
  readonly entry: Entry
  readonly named: string
  readonly project: string
  readonly runnerId: string
  readonly rights: readonly RunRight[]
}

export class RunTokens {
  readonly #runtime: Runtime
  readonly #store: RunKeyStore
  readonly #end: (entry: Entry) => void
  #key: Buffer | undefined
  /** By run request: at most one attempt of each is under way. */
  readonly #inUse = new Map<string, InUse>()
  /** Requests in use, by runner. */
  readonly #byRunner = new Map<string, Set<string>>()

  /**
   * `end` ends what is under way for an entry, whose token is no longer valid. Throws file system errors if the key
   * cannot be read.
   */
  constructor(runtime: Runtime, store: RunKeyStore, end: (entry: Entry) => void) {
    this.#runtime = runtime
    this.#store = store
    this.#end = end
    this.#key = store.read()
  }

  /**
   * The token of the attempt that is under way, the same each time; undefined if there is none, or if its runner's runs
   * have no rights. Throws RunKeyFailure if the first key cannot be written.
   */
  tokenOf({ value, context }: RunRequestSnapshot): string | undefined {
    if (!isWorking(value) || this.#rightsOf(context).length === 0) return undefined
    this.#key ??= this.#store.make()
    const named = namedBy(context)
    return `${RUN_TOKEN_PREFIX}${named}_${this.#proof(this.#key, named)}`
  }

  /** Reads nothing of the request unless this service has made the token. */
  find(token: string): Entry | undefined {
    const [, named, digits, given] = RUN_TOKEN.exec(token) ?? []
    if (named === undefined || this.#key === undefined) return undefined
    const id = `${ID_PREFIX}${digits}`
    const proof = this.#proof(this.#key, named)
    if (!timingSafeEqual(Buffer.from(proof, 'latin1'), Buffer.from(given!, 'latin1'))) return undefined
    const known = this.#inUse.get(id)
    if (known !== undefined) return known.named === named ? known.entry : undefined
    const snapshot = readable(() => this.#runtime.read({ kind: 'run_request', id }))
    return snapshot === undefined ? undefined : this.#take(snapshot, named)
  }

  /** Ends the tokens that a committed step makes invalid. */
  follow({ ref: { kind, id }, after }: CommittedStep): void {
    if (kind === 'run_request') {
      const known = this.#inUse.get(id)
      if (known !== undefined && !isAttempt(after, known.named)) this.#drop(id, known)
    } else if (kind === 'runner') {
      for (const request of this.#byRunner.get(id) ?? []) {
        const known = this.#inUse.get(request)!
        const rights = rightsOfRuns(after, known.project)
        // Streams were opened with the rights of then, so they end even if there are others now.
        if (known.rights.join() !== rights.join()) this.#drop(request, known)
      }
    }
  }

  #take(snapshot: RunRequestSnapshot, named: string): Entry | undefined {
    const { id, project, attempt, offered_to: runnerId } = snapshot.context
    const rights = this.#rightsOf(snapshot.context)
    if (!isAttempt(snapshot, named) || runnerId === undefined || rights.length === 0) return undefined
    const name = `run:${id}`
    const by = { id, name }
    const of = { projects: new Set([project]), run: { attempt, runnerId }, expiresAtMs: undefined }
    const entry = newEntry({ kind: 'run', id, name, by, rights: new Set(rights), ...of })
    this.#inUse.set(id, { entry, named, project, runnerId, rights })
    const requests = this.#byRunner.get(runnerId) ?? new Set()
    this.#byRunner.set(runnerId, requests.add(id))
    return entry
  }

  #drop(id: string, { entry, runnerId }: InUse): void {
    this.#inUse.delete(id)
    const requests = this.#byRunner.get(runnerId)
    requests?.delete(id)
    if (requests?.size === 0) this.#byRunner.delete(runnerId)
    this.#end(entry)
  }

  #rightsOf({ project, offered_to: id }: RunRequestContext): readonly RunRight[] {
    if (id === undefined) return []
    return rightsOfRuns(
      readable(() => this.#runtime.read({ kind: 'runner', id })),
      project,
    )
  }

  /** A restored log has another epoch, so that even a key that was copied beside it admits nobody from before. */
  #proof(key: Buffer, named: string): string {
    const { epoch } = this.#runtime.journal
    return createHmac('sha256', key).update(`${epoch}\n${named}`).digest('base64url')
  }
}

/**
 * The attempt, for a token: digits of the request's id, number of the attempt, and when the request was made, in
 * milliseconds. The time tells it from a later request of the same id: once retention has removed a request, its
 * idempotency key makes that id again.
 */
function namedBy({ id, attempt, created_at }: RunRequestContext): string {
  return `${id.slice(ID_PREFIX.length)}_${attempt}_${instantMs(created_at)}`
}

function isAttempt({ value, context }: RunRequestSnapshot, named: string): boolean {
  return isWorking(value) && namedBy(context) === named
}

/**
 * What the runner's runs may do in the project. Nothing if it is removed, unknown, or no longer allowed the project: who
 * then gives it rights need not hold them there.
 */
function rightsOfRuns(runner: SnapshotOf<any> | undefined, project: string): readonly RunRight[] {
  return runner !== undefined && worksFor(runner, project) ? runner.context.run_rights : []
}
