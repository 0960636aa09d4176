/** Runners that were removed for good: an id is never given again, so work for that runner alone can never be done. */
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { Visible } from '../dispatch/api.ts'

/** Whether the runner was removed, as far as a reader may know: it must have worked for a project the reader sees. */
export function isRemovedRunner(runtime: Pick<Runtime, 'read'>, id: string, visible: Visible): boolean {
  const runner = committed(runtime, { kind: 'runner', id })
  if (runner?.value !== 'removed') return false
  const { allowed_projects: allowed } = runner.context as { readonly allowed_projects: readonly string[] }
  return visible === '*' || allowed.some((key) => key === '*' || visible.has(key))
}

/** Why work cannot name it as its only runner. */
export function removedForGood(id: string): string {
  return `runner ${id} was removed: name another, or none`
}
