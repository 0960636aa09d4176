/**
 * Who may do what. A bearer token becomes a principal, and the route's access rule is checked against it. Anything a
 * principal may not see is answered 404, as if it did not exist. Reads no storage: the table of principals is in
 * memory.
 */
import type { Principal, Principals } from '../runtime/access/principals.ts'
import type { Right } from '../runtime/access/rights.ts'
import type { Access, Route } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

/**
 * Hashing a token costs about 1.5 us, a lookup by header text 0.1 us, so this many header texts are cached. Only texts
 * of valid tokens are cached, so that noise cannot evict real callers.
 */
const HEADER_CACHE_ENTRIES_MAX = 16_384
const TOKEN_CHARACTERS_MAX = 512
/** Prefix of the subprotocol in which a browser page sends its token. */
export const SOCKET_TOKEN_PREFIX = 'bearer.'

export class AccessCheck {
  readonly #principals: Principals
  readonly #byHeader = new Map<string, Principal>()

  constructor(principals: Principals) {
    this.#principals = principals
  }

  /** The principal of an `Authorization` header. Returns undefined if the header is not a valid token's. */
  authenticate(header: string): Principal | undefined {
    const known = this.#byHeader.get(header)
    if (known !== undefined) {
      if (this.#principals.holds(known)) return known
      // A run's token may be valid again: its run was lost, and goes on.
      this.#byHeader.delete(header)
    }
    const token = tokenOf(header)
    if (token === undefined) return undefined
    const principal = this.#principals.find(token)
    if (principal === undefined) return undefined
    if (this.#byHeader.size >= HEADER_CACHE_ENTRIES_MAX) {
      for (const oldest of this.#byHeader.keys()) {
        this.#byHeader.delete(oldest)
        break
      }
    }
    this.#byHeader.set(header, principal)
    return principal
  }

  /** Whether the principal may still act: its token may have been revoked or have expired while the body arrived. */
  holds(principal: Principal): boolean {
    return this.#principals.holds(principal)
  }

  /**
   * The principal of the subprotocols that a WebSocket client offers: browsers cannot send `Authorization` there, so
   * the token comes as `bearer.<token>` among them.
   */
  authenticateSocket(protocols: string): Principal | undefined {
    for (const offered of protocols.split(',')) {
      const protocol = offered.trim()
      if (protocol.startsWith(SOCKET_TOKEN_PREFIX)) {
        return this.authenticate(`Bearer ${protocol.slice(SOCKET_TOKEN_PREFIX.length)}`)
      }
    }
    return undefined
  }
}

/** Why a token no longer admits its holder, for connections that are already open. */
export function revocationFault({ kind, name, revoked }: Principal): {
  readonly code: 'token_revoked' | 'token_expired'
  readonly detail: string
} {
  if (kind === 'run') {
    const detail = `The token ${name} is over: its run has ended or is to stop, or the rights of its runner's runs changed.`
    return { code: 'token_revoked', detail }
  }
  return revoked
    ? { code: 'token_revoked', detail: `The token ${name} was revoked.` }
    : { code: 'token_expired', detail: `The token ${name} has expired.` }
}

function tokenOf(header: string): string | undefined {
  if (header.length > TOKEN_CHARACTERS_MAX || header.slice(0, 7).toLowerCase() !== 'bearer ') return undefined
  const token = header.slice(7).trim()
  return token === '' ? undefined : token
}

/** Checks the route's rule against the caller. Returns false if a problem was answered. */
export function admit(exchange: Exchange, access: Access, runnerParam: number): boolean {
  const principal = exchange.principal
  if (principal.kind === 'runner') return admitRunner(exchange, principal, access, runnerParam)
  if (access.right === 'any') return true
  if (access.right === 'runner') {
    exchange.problem('not_the_runner', "This path is for the runner itself: only that runner's token is accepted.")
    return false
  }
  if (principal.kind === 'run' && access.isClosedToRuns === true) {
    exchange.problem('forbidden', "A run's token may not do this, whatever its rights: people do.")
    return false
  }
  const { right, orRight } = access
  if (principal.rights.has(right as Right) || (orRight !== undefined && principal.rights.has(orRight))) return true
  const needed = orRight === undefined ? right : `${right} or ${orRight}`
  exchange.problem('forbidden', `This needs the right ${needed}, which the token ${principal.name} does not hold.`)
  return false
}

function admitRunner(exchange: Exchange, principal: Principal, access: Access, runnerParam: number): boolean {
  if (access.right === 'any') return true
  if (access.runner === undefined) {
    exchange.problem('forbidden', "A runner's token may not do this.")
    return false
  }
  if (access.runner === 'own' && exchange.params[runnerParam] !== principal.runnerId) {
    exchange.problem('not_the_runner', `The token belongs to runner ${principal.runnerId}.`)
    return false
  }
  return true
}

/** Index of the runner's id among the path parameters; -1 if the path has none. */
export function runnerParamOf(route: Route): number {
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1])
  return names.indexOf('runner_id')
}

/** Whether the principal may see entities of the project with this key. */
export function maySee(principal: Principal, projectKey: string): boolean {
  return principal.projects === '*' || principal.projects.has(projectKey)
}

/**
 * Whether the caller may set `authorized_by`, the person who answers for work at throttle `full`: anybody may name
 * themselves; naming somebody else needs `approve.full`. Returns false if a problem was answered.
 */
export function mayAuthorize(exchange: Exchange, authorizedBy: string | null | undefined): boolean {
  const { principal, by } = exchange
  if (authorizedBy === undefined || authorizedBy === null) return true
  if (principal.kind === 'run') {
    exchange.problem(
      'forbidden',
      "A run's token names nobody in authorized_by, itself included: people answer for work.",
    )
    return false
  }
  if (authorizedBy === by.name) return true
  if (mayDo(principal, 'approve.full')) return true
  exchange.problem('forbidden', `Naming anyone other than ${by.name} in authorized_by needs the right approve.full.`)
  return false
}

/** Whether the principal holds the right; a runner holds none. */
export function mayDo(principal: Principal, right: Right): boolean {
  return principal.rights.has(right)
}
