/**
 * What each role may do: roles are named sets of rights. A token holds roles or rights; what it may do is always
 * decided by rights alone.
 */
import { RIGHTS, type Right, type Role } from '../../machines/rights.ts'

export type { Right }

/** `author` writes meaning, `approver` lets it run, `operator` runs the fleet, `admin` also hands out tokens. */
export const ROLE_RIGHTS: Readonly<Record<Role, readonly Right[]>> = {
  viewer: ['view'],
  author: ['view', 'intent.write', 'brief.compile', 'work.submit'],
  approver: ['view', 'intent.accept', 'approve.dry_run', 'approve.full', 'drift.classify'],
  operator: ['view', 'work.submit', 'work.operate', 'event.emit', 'runner.manage'],
  admin: RIGHTS,
}

/** The union of the rights given by name and by role. Unknown names give nothing. */
export function rightsOf(roles: readonly string[], rights: readonly string[]): ReadonlySet<Right> {
  const all = new Set<Right>()
  for (const role of roles) for (const right of ROLE_RIGHTS[role as Role] ?? []) all.add(right)
  for (const right of rights) if ((RIGHTS as readonly string[]).includes(right)) all.add(right as Right)
  return all
}
