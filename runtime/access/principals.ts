/**
 * Which principal each token stands for: a table from the SHA-256 of a token to its principal, loaded at start and
 * fed by the committed steps of token and runner actors. Only what is on disk lets anyone in, and a revocation takes
 * effect with its commit.
 */
import { createHash } from 'node:crypto'
import { instantMs } from '../../machines/instant.ts'
import type { ActorRef, By, SnapshotOf } from '../../machines/machine.ts'
import { RIGHTS } from '../../machines/rights.ts'
import { allOfKind } from '../all-of-kind.ts'
import type { CommittedStep, Platform, Runtime } from '../api.ts'
import { clockRecheckMs } from '../limits.ts'
import { type Right, rightsOf } from './rights.ts'

/** What a token stands for now: one object for the token's whole life, whose fields follow its actor. */
export interface Principal {
  readonly kind: 'token' | 'runner'
  /** `tok_...`, or the runner's id. */
  readonly id: string
  readonly name: string
  /** Shown in the envelope of what this principal causes. */
  readonly by: By
  /** Empty for a runner: what it holds decides what it may do. */
  readonly rights: ReadonlySet<Right>
  /** Keys of the projects that it may see, or all. */
  readonly projects: '*' | ReadonlySet<string>
  /** The runner whose token this is. */
  readonly runnerId?: string
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number | undefined
  readonly revoked: boolean
}

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

/** The principal as seen from outside, open for writing. */
interface Entry {
  readonly kind: 'token' | 'runner'
  readonly id: string
  readonly hash: string
  name: string
  by: By
  rights: ReadonlySet<Right>
  projects: '*' | ReadonlySet<string>
  runnerId?: string
  expiresAtMs: number | undefined
  revoked: boolean
  used: boolean
  /** Since the service started. */
  everUsed: boolean
  callbacks: Set<() => void> | undefined
  timer: unknown
}

/** Lower-case hex of the token's SHA-256: the only form in which a token is ever stored. */
export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

const NO_RIGHTS: ReadonlySet<Right> = new Set()

/** Loads every token and runner, and follows their commits. Call it before the service listens. */
export async function createPrincipals(runtime: Runtime): Promise<Principals> {
  const table = new PrincipalTable(runtime.platform)
  runtime.onCommit((steps) => table.follow(steps))
  for (const kind of ['token', 'runner'] as const) {
    for await (const snapshot of allOfKind(runtime, kind)) table.set({ kind, id: snapshot.context.id }, snapshot)
  }
  return table
}

class PrincipalTable implements Principals {
  readonly #platform: Platform
  readonly #byHash = new Map<string, Entry>()
  readonly #byActor = new Map<string, Entry[]>()
  readonly #used = new Set<Entry>()

  constructor(platform: Platform) {
    this.#platform = platform
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
    // A look-up by hash leaks nothing through its timing: whoever could choose the hash would already hold the token.
    const entry = this.#byHash.get(hashOfToken(token))
    if (entry === undefined || !this.holds(entry)) return undefined
    return entry
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
  #keep(now: Entry): Entry {
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

  #revoke(entry: Entry): void {
    entry.revoked = true
    this.#byHash.delete(entry.hash)
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

function entriesOfToken(snapshot: SnapshotOf<TokenContext>): Entry[] {
  const context: TokenContext = snapshot.context
  if (snapshot.value !== 'active') return []
  return [
    {
      kind: 'token',
      id: context.id,
      hash: context.hash,
      name: context.name,
      by: { id: context.id, name: context.name },
      rights: rightsOf(context.roles, context.rights),
      projects: context.projects === '*' ? '*' : new Set(context.projects),
      expiresAtMs: expiryOf(context),
      revoked: false,
      used: false,
      everUsed: false,
      callbacks: undefined,
      timer: undefined,
    },
  ]
}

function entriesOfRunner(snapshot: SnapshotOf<RunnerContext>): Entry[] {
  const context: RunnerContext = snapshot.context
  if (snapshot.value === 'removed' || snapshot.value === 'absent') return []
  const projects = context.allowed_projects.includes('*') ? '*' : new Set(context.allowed_projects)
  return context.internal.credentials.map(
    (credential): Entry => ({
      kind: 'runner',
      id: context.id,
      hash: credential.hash,
      name: `runner:${context.id}`,
      by: { id: context.id, name: `runner:${context.id}` },
      rights: NO_RIGHTS,
      projects,
      runnerId: context.id,
      expiresAtMs: expiryOf(credential),
      revoked: false,
      used: false,
      everUsed: false,
      callbacks: undefined,
      timer: undefined,
    }),
  )
}
