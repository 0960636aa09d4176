/** What a task brings along besides its objective, as the agent is shown it. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { clipped } from '../../machines/clipped.ts'
import type { Run } from './run.ts'

/** How much of it stands in the prompt, in characters. */
export const CONTEXT_CHARS_MAX = 32_000

/**
 * The context as JSON. If it is longer than the prompt may have it, the agent is told where the whole is: in a file
 * beside the worktree, removed with it, so that it ends up in no commit. Throws the machine's error.
 */
export function contextText({ worktree }: Pick<Run, 'worktree'>, context: unknown): string {
  const whole = JSON.stringify(context, null, 2)
  if (whole.length <= CONTEXT_CHARS_MAX) return whole
  const file = resolve(worktree.path, '../context.json')
  writeFileSync(file, whole, { mode: 0o600 })
  const cut = `[Cut off here, after ${CONTEXT_CHARS_MAX} of ${whole.length} characters. The whole is in ${file}]`
  return `${clipped(whole, CONTEXT_CHARS_MAX)}\n${cut}`
}
