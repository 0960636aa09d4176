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

/** Named sets of rights. */
export const ROLES = ['viewer', 'author', 'approver', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]
