/**
 * The ids that the service makes, what they look like, and those that derive from what they name: a name that must be unique
 * is an actor whose id derives from it, so that two creates of one name meet in one mailbox and only one can win.
 */
import { hash } from 'node:crypto'

/** Prefixes of the service's ids. */
export type IdPrefix =
  | 'proj'
  | 'runreq'
  | 'run'
  | 'brief'
  | 'tok'
  | 'obs'
  | 'cap'
  | 'wi'
  | 'ir'
  | 'hyp'
  | 'disc'
  | 'steer'
  | 'trigger'
  | 'act'
  | 'dec'
  | 'find'
  | 'mrun'

/** Hexadecimal, behind the prefix and `_`. */
export const ID_DIGITS = 24

/** `<prefix>_` + first 24 hex digits of SHA-256 over the parts, joined by NUL (which no part may contain). */
export function deriveId(prefix: IdPrefix, ...parts: readonly string[]): string {
  return `${prefix}_${hash('sha256', parts.join('\0'), 'hex').slice(0, ID_DIGITS)}`
}

/** A regular expression, without its ends, for ids of the prefix. */
export function idPattern(prefix: string): string {
  return `${prefix}_[0-9a-f]{${ID_DIGITS}}`
}

const BEHIND_PREFIX = new RegExp(`${idPattern('')}$`, 'y')

/** The service may have made it; whether it has is not asked. */
export function isId(prefix: IdPrefix, text: string): boolean {
  BEHIND_PREFIX.lastIndex = prefix.length
  return text.startsWith(prefix) && BEHIND_PREFIX.test(text)
}

/** `generation` goes up when an earlier holder of the key is settled and its key has run out. */
export function runRequestIdOf(projectId: string, idempotencyKey: string, generation: number): string {
  return deriveId('runreq', 'run_request', projectId, idempotencyKey, String(generation))
}

/** A slug is given once in a project. */
export function recordIdOfSlug(projectId: string, slug: string): string {
  return deriveId('ir', 'intent_record', projectId, slug)
}

/** A hypothesis is one, whichever discoveries draw it. */
export function hypothesisIdOf(projectId: string, key: string): string {
  return deriveId('hyp', 'hypothesis', projectId, key)
}

/** A project's key is given once. */
export function projectIdOf(key: string): string {
  return deriveId('proj', 'project', key)
}

/** Who states something, as far as it matters what they may see: everything, or the projects of these keys. */
export type Sight = '*' | ReadonlySet<string>

/**
 * The maintenance run of a trace is one, whichever project it is told to, for all who see the same projects: whoever may not
 * see a project of it can neither join nor end it, and has one of their own.
 */
export function maintenanceRunIdOf(traceId: string, sight: Sight): string {
  const own = sight === '*' ? [] : ['of', ...[...sight].sort()]
  return deriveId('mrun', 'maintenance_run', traceId, ...own)
}
