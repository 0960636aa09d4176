/**
 * Which principal each token stands for: a table from the SHA-256 of a token to its principal, loaded at start and
 * fed by the committed steps of token and runner actors. Only what is on disk lets anyone in, and a revocation takes
 * effect with its commit.
 */
import { createHash } from 'node:crypto'
import { instantMs } from '../../machines/instant.ts'
import type { ActorRef, SnapshotOf } from '../../machines/machine.ts'
import { RIGHTS } from '../../machines/rights.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { allOfKind } from '../all-of-kind.ts'
import type { CommittedStep, Platform, Runtime } from '../api.ts'
import { clockRecheckMs } from '../limits.ts'
import { type Entry, newEntry, type Principal } from './principal.ts'
import { type Right, rightsOf } from './rights.ts'
import { RUN_TOKEN_PREFIX, type RunKeyStore, RunTokens } from './run-tokens.ts'

export type { Principal }

export interface Principals {
  /** The principal of a token's text; undefined if it is unknown, revoked or expired. */
  find(token: string): Principal | undefined
  /** Whether the principal may still act: neither revoked nor expired. */
  holds(principal: Principal): boolean
  /**
   * Calls back once when the principal is revoked or has expired: within a second, or a minute if the wall clock was
   * set. Returns a function that cancels this.
   */
  onRevoked(principal: Principal, callback: () => void): () => void
  /**
   * Whether a runner's token was replaced by one that has been used since: its holder may not create a third. While the
   * successor is unused the old token is accepted, since the answer that carried the new one may have been lost.
   */
  isReplaced(principal: Principal): boolean
  /**
   * Whether the token is the only valid one that may do everything, everywhere. Nobody grants more than they hold, so
   * without it no such token could be made again.
   */
  isLastAdmin(tokenId: string): boolean
  /**
   * The token for the command of the attempt that is under way, the same each time; undefined if its runner's runs have
   * no rights. Throws RunKeyFailure if the key for such tokens cannot be written.
   */
  runTokenOf(request: SnapshotOf<RunRequestContext>): string | undefined
  /** Number of valid tokens: for the metrics. */
  readonly size: number
  /** Earliest expiry of a valid token that is not a runner's, milliseconds since the epoch; infinite if none. */
  readonly nextExpiryMs: number
  /** Token ids used since the last call: their last use is noted lazily. */
  takeUsed(): readonly string[]
}

interface TokenContext {
  readonly id: string
  readonly name: string
  readonly hash: string
  readonly roles: readonly string[]
  readonly rights: readonly string[]
  readonly projects: '*' | readonly string[]
  readonly expires_at?: string
}

interface RunnerContext {
  readonly id: string
  readonly name?: string
  readonly allowed_projects: readonly string[]
  readonly internal: { readonly credentials: readonly { readonly hash: string; readonly expires_at?: string }[] }
}

/** An entry for a stored token. */
type Stored = Entry & { readonly hash: string }

/** Lower-case hex of the token's SHA-256: the only form in which a token is ever stored. */
export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

const NO_RIGHTS: ReadonlySet<Right> = new Set()

/**
 * Loads every token and runner, and follows their commits. Call it before the service listens. Rejects with file system
 * errors if the key for tokens of runs cannot be read.
 */
export async function createPrincipals(runtime: Runtime, runKey: RunKeyStore): Promise<Principals> {
  const table = new PrincipalTable(runtime, runKey)
  runtime.onCommit((steps) => table.follow(steps))
  for (const kind of ['token', 'runner'] as const) {
    for await (const snapshot of allOfKind(runtime, kind)) table.set({ kind, id: snapshot.context.id }, snapshot)
  }
  return table
}

class PrincipalTable implements Principals {
  readonly #platform: Platform
  readonly #byHash = new Map<string, Stored>()
  readonly #byActor = new Map<string, Stored[]>()
  readonly #used = new Set<Entry>()
  readonly #runTokens: RunTokens

  constructor(runtime: Runtime, runKey: RunKeyStore) {
    this.#platform = runtime.platform
    this.#runTokens = new RunTokens(runtime, runKey, (entry) => this.#end(entry))
  }

  get size(): number {
    let size = 0
    for (const entry of this.#byHash.values()) if (!this.#isOver(entry)) size += 1
    return size
  }

  get nextExpiryMs(): number {
    let first = Number.POSITIVE_INFINITY
    for (const entry of this.#byHash.values())
      if (entry.kind === 'token' && !this.#isOver(entry)) first = Math.min(first, entry.expiresAtMs ?? first)
    return first
  }

  find(token: string): Principal | undefined {
    const entry = token.startsWith(RUN_TOKEN_PREFIX) ? this.#runTokens.find(token) : this.#stored(token)
    return entry === undefined || !this.holds(entry) ? undefined : entry
  }

  #stored(token: string): Entry | undefined {
    // A look-up by hash leaks nothing through its timing: whoever could choose the hash would already hold the token.
    return this.#byHash.get(hashOfToken(token))
  }

  runTokenOf(request: SnapshotOf<RunRequestContext>): string | undefined {
    return this.#runTokens.tokenOf(request)
  }

  holds(principal: Principal): boolean {
    const entry = principal as Entry
    if (entry.revoked || this.#isOver(entry)) return false
    if (!entry.used) {
      entry.used = true
      entry.everUsed = true
      this.#used.add(entry)
    }
    return true
  }

  #isOver({ expiresAtMs }: Entry): boolean {
    return isOver(expiresAtMs, this.#platform.wallMs())
  }

  isReplaced(principal: Principal): boolean {
    const newest = this.#byActor.get(`${principal.kind}/${principal.id}`)?.at(-1)
    return newest !== undefined && newest !== principal && newest.everUsed
  }

  isLastAdmin(tokenId: string): boolean {
    let isAdmin = false
    for (const entry of this.#byHash.values()) {
      if (!mayEverything(entry) || this.#isOver(entry)) continue
      if (entry.id !== tokenId) return false
      isAdmin = true
    }
    return isAdmin
  }

  takeUsed(): readonly string[] {
    const ids: string[] = []
    for (const entry of this.#used) {
      entry.used = false
      if (entry.kind === 'token' && !entry.revoked) ids.push(entry.id)
    }
    this.#used.clear()
    return ids
  }

  onRevoked(principal: Principal, callback: () => void): () => void {
    const entry = principal as Entry
    entry.callbacks ??= new Set()
    entry.callbacks.add(callback)
    this.#arm(entry)
    return () => {
      entry.callbacks?.delete(callback)
      if (entry.callbacks?.size === 0 && entry.timer !== undefined) {
        this.#platform.clearTimer(entry.timer)
        entry.timer = undefined
      }
    }
  }

  follow(steps: readonly CommittedStep[]): void {
    for (const step of steps) {
      if (step.ref.kind === 'token' || step.ref.kind === 'runner') this.set(step.ref, step.after)
      this.#runTokens.follow(step)
    }
  }

  /** Brings the table in line with one actor's committed snapshot. */
  set(ref: ActorRef, snapshot: SnapshotOf<any>): void {
    const key = `${ref.kind}/${ref.id}`
    const before = this.#byActor.get(key)
    const now = ref.kind === 'token' ? entriesOfToken(snapshot) : entriesOfRunner(snapshot)
    const kept = now.map((entry) => this.#keep(entry))
    for (const entry of before ?? []) if (!kept.includes(entry)) this.#revoke(entry)
    if (kept.length > 0) this.#byActor.set(key, kept)
    else this.#byActor.delete(key)
  }

  /** A known entry stays the same object, since callers may hold it. */
  #keep(now: Stored): Stored {
    const known = this.#byHash.get(now.hash)
    if (known === undefined) {
      this.#byHash.set(now.hash, now)
      return now
    }
    known.name = now.name
    known.by = now.by
    known.rights = now.rights
    known.projects = now.projects
    known.expiresAtMs = now.expiresAtMs
    this.#arm(known)
    return known
  }

  #revoke(entry: Stored): void {
    this.#byHash.delete(entry.hash)
    this.#end(entry)
  }

  #end(entry: Entry): void {
    entry.revoked = true
    this.#tell(entry)
  }

  #tell(entry: Entry): void {
    if (entry.timer !== undefined) this.#platform.clearTimer(entry.timer)
    entry.timer = undefined
    const callbacks = entry.callbacks
    entry.callbacks = undefined
    if (callbacks !== undefined) for (const callback of callbacks) callback()
  }

  /** One timer per entry that has callbacks and will expire. */
  #arm(entry: Entry): void {
    if (entry.timer !== undefined) this.#platform.clearTimer(entry.timer)
    entry.timer = undefined
    if (entry.expiresAtMs === undefined || entry.callbacks === undefined || entry.callbacks.size === 0) return
    const afterMs = Math.max(0, entry.expiresAtMs - this.#platform.wallMs())
    entry.timer = this.#platform.setTimer(
      () => {
        entry.timer = undefined
        if (entry.expiresAtMs !== undefined && this.#platform.wallMs() < entry.expiresAtMs) this.#arm(entry)
        else this.#tell(entry)
      },
      Math.min(afterMs, clockRecheckMs),
    )
  }
}

function mayEverything({ projects, rights }: Principal): boolean {
  return projects === '*' && RIGHTS.every((right) => rights.has(right))
}

/** Whether the expiry has passed at a time in milliseconds since the epoch. */
export function isExpired(context: { readonly expires_at?: string }, nowMs: number): boolean {
  return isOver(expiryOf(context), nowMs)
}

function isOver(expiresAtMs: number | undefined, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs
}

/** An expiry that no clock shows (a leap second) counts as passed: what cannot be compared must not let in for ever. */
function expiryOf({ expires_at }: { readonly expires_at?: string }): number | undefined {
  if (expires_at === undefined) return undefined
  const atMs = instantMs(expires_at)
  return Number.isNaN(atMs) ? 0 : atMs
}

function entriesOfToken(snapshot: SnapshotOf<TokenContext>): Stored[] {
  const context: TokenContext = snapshot.context
  if (snapshot.value !== 'active') return []
  const { id, hash, name } = context
  const entry = newEntry({
    kind: 'token',
    id,
    name,
    by: { id, name },
    rights: rightsOf(context.roles, context.rights),
    projects: context.projects === '*' ? '*' : new Set(context.projects),
    expiresAtMs: expiryOf(context),
  })
  return [{ ...entry, hash }]
}

function entriesOfRunner(snapshot: SnapshotOf<RunnerContext>): Stored[] {
  const context: RunnerContext = snapshot.context
  if (snapshot.value === 'removed' || snapshot.value === 'absent') return []
  const { id } = context
  const projects = context.allowed_projects.includes('*') ? '*' : new Set(context.allowed_projects)
  const name = `runner:${id}`
  return context.internal.credentials.map((credential) => {
    const stated = { kind: 'runner', id, name, by: { id, name }, rights: NO_RIGHTS, projects, runnerId: id } as const
    return { ...newEntry({ ...stated, expiresAtMs: expiryOf(credential) }), hash: credential.hash }
  })
}
