/** The prompts given to the agent. */
import { contextText } from './context.ts'
import type { Fault } from './fault.ts'
import type { GateResult } from './gate.ts'
import type { Run } from './run.ts'
import type { Work } from './work.ts'

/** Appended to a task without a brief; a brief's prompts have their own. */
const QUESTIONS = `If you cannot continue without a decision that only a person can make, stop, and end your answer with
{"question": "...", "options": ["...", "..."]}`

/** A clone has one stash for all its worktrees, in which the newest entry may be another agent's. */
const NO_STASH = 'Do not use `git stash`: other agents may work in the same clone, and all share one stash.'

/** How many files in conflict are named. */
const CONFLICTS_MAX = 200

/** The task and, for work begun before, what is known of it: conflicts with trunk, or its fault. */
export function taskPrompt(run: Run, conflicts: readonly string[], fault: Fault | undefined): string {
  const shared = run.work.mayChange ? `\n${NO_STASH}\n` : ''
  return `${askedPrompt(run)}${shared}${run.isContinued ? continuedPrompt(run, conflicts, fault) : ''}`
}

/** The prompt of the run's brief, or the task's own text. */
function askedPrompt(run: Run): string {
  const { briefPrompt, task, context } = run.work
  if (briefPrompt !== undefined) return briefPrompt
  const more = context === undefined ? '' : `\n\nContext:\n${contextText(run, context)}\n`
  return `${task}${more}\n\n${QUESTIONS}\n`
}

function continuedPrompt({ settings }: Run, conflicts: readonly string[], fault: Fault | undefined): string {
  const begun = '\n\nThis work was begun earlier and is committed. Add to its commits; do not rewrite any of them.'
  if (conflicts.length > 0) {
    const list = conflicts
      .slice(0, CONFLICTS_MAX)
      .map((file) => `- ${file}`)
      .join('\n')
    const rest = conflicts.length > CONFLICTS_MAX ? `\n(${conflicts.length} in all: \`git status\` lists them)` : ''
    const how = `Resolve them first, preserving the intent of both sides. Leave no conflict markers.
If a file is already right, run \`git add\` on it.`
    const since = `Since then ${settings.land} has changed. It is being merged in, with conflicts in these files:`
    return `${begun} ${since}\n\n${list}${rest}\n\n${how}\n`
  }
  return fault === undefined ? `${begun}\n` : `${begun} In its current state, ${fault.summary}\n\n${fault.diagnosis}\n`
}

/** The service's prompt for the next step, with the results of a campaign's gates. */
export function stepPrompt({ request }: Work, gates: readonly GateResult[]): string {
  const prompt = request.engine.payload.prompt as string
  if (gates.length === 0) return prompt
  const lines = gates.map(({ name, passed, output }) => `- ${name} ${passed ? 'passes' : `fails:\n${output}`}`)
  return `${prompt}\n\n## Gate results on trunk, just now\n\n${lines.join('\n')}\n`
}
