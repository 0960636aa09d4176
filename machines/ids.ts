/**
 * The ids that the service makes: their shape, and how they are derived from what they name. Where a name must be
 * unique, the actor's id derives from it, so that two creates of the same name meet in one mailbox and only one wins.
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

/** Number of hexadecimal digits after the prefix and `_`. */
export const ID_DIGITS = 24

/** `<prefix>_` + first 24 hex digits of SHA-256 over the parts, joined by NUL (which no part may contain). */
export function deriveId(prefix: IdPrefix, ...parts: readonly string[]): string {
  return `${prefix}_${hash('sha256', parts.join('\0'), 'hex').slice(0, ID_DIGITS)}`
}

/** Source of a regular expression, without anchors, for ids with this prefix. */
export function idPattern(prefix: string): string {
  return `${prefix}_[0-9a-f]{${ID_DIGITS}}`
}

const BEHIND_PREFIX = new RegExp(`${idPattern('')}$`, 'y')

/** Whether the text has the form of an id with this prefix; does not check that such an entity exists. */
export function isId(prefix: IdPrefix, text: string): boolean {
  BEHIND_PREFIX.lastIndex = prefix.length
  return text.startsWith(prefix) && BEHIND_PREFIX.test(text)
}

/** `generation` increases when the key's previous holder has settled and the key has expired. */
export function runRequestIdOf(projectId: string, idempotencyKey: string, generation: number): string {
  return deriveId('runreq', 'run_request', projectId, idempotencyKey, String(generation))
}

/** A slug is unique within a project. */
export function recordIdOfSlug(projectId: string, slug: string): string {
  return deriveId('ir', 'intent_record', projectId, slug)
}

/** A hypothesis has one id, whichever discoveries propose it. */
export function hypothesisIdOf(projectId: string, key: string): string {
  return deriveId('hyp', 'hypothesis', projectId, key)
}

/** A project's key is unique. */
export function projectIdOf(key: string): string {
  return deriveId('proj', 'project', key)
}

/** Which projects the sender may see: all of them, or those with these keys. */
export type ProjectScope = '*' | ReadonlySet<string>

/**
 * All senders who see the same projects share one maintenance run per trace, whichever project it is reported to. A
 * sender who may not see one of its projects can neither join nor end it, and gets a separate one.
 */
export function maintenanceRunIdOf(traceId: string, scope: ProjectScope): string {
  const own = scope === '*' ? [] : ['of', ...[...scope].sort()]
  return deriveId('mrun', 'maintenance_run', traceId, ...own)
}
