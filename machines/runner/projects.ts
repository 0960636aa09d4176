/** For which projects a runner works. */
import type { SnapshotOf } from '../machine.ts'
import type { RunnerContext } from './context.ts'

/** Whether the runner is there and may work for the project of that key. */
export function worksFor(
  { value, context }: SnapshotOf<Pick<RunnerContext, 'allowed_projects'>>,
  project: string,
): boolean {
  const { allowed_projects: allowed } = context
  return value !== 'removed' && (allowed.includes('*') || allowed.includes(project))
}
