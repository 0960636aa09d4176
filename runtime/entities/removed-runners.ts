/** Runners that were removed for good: an id that names one is nobody's again, so that work for it alone is done by nobody. */
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { Visible } from '../dispatch/api.ts'

/** Whether the runner was removed, as far as a reader may know: of one that worked for none of its projects nothing is told. */
export function isRemovedRunner(runtime: Pick<Runtime, 'read'>, id: string, visible: Visible): boolean {
  const runner = committed(runtime, { kind: 'runner', id })
  if (runner?.value !== 'removed') return false
  const { allowed_projects: allowed } = runner.context as { readonly allowed_projects: readonly string[] }
  return visible === '*' || allowed.some((key) => key === '*' || visible.has(key))
}

/** What is wrong with naming it as the only one that may do the work. */
export function removedForGood(id: string): string {
  return `runner ${id} was removed for good: name another, or none`
}
