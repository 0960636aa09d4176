/** What a token may do; each endpoint needs one of them. Here alone, for the service and for clients that say them. */
export const RIGHTS = [
  'view',
  'intent.write',
  'intent.accept',
  'brief.compile',
  'approve.dry_run',
  'approve.full',
  'work.submit',
  'work.operate',
  'event.emit',
  'drift.classify',
  'runner.manage',
  'token.manage',
] as const
export type Right = (typeof RIGHTS)[number]

/**
 * Rights that a runner's runs may hold, with a token that a coding agent sees (docs/RUNNERS.md): to read, to draft, to
 * ask for work and to say what happened. None approves, accepts, operates or grants anything.
 */
export const RUN_RIGHTS = ['view', 'intent.write', 'work.submit', 'event.emit'] as const satisfies readonly Right[]
export type RunRight = (typeof RUN_RIGHTS)[number]

/** Named sets of rights. */
export const ROLES = ['viewer', 'author', 'approver', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]
