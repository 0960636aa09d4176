/**
 * The answer of an agent that was asked for the next step, of a campaign or of an initiative, as its Run Result carries it.
 * It is advice: what is right in it, and what comes of it, is for whoever asked to decide.
 */
import { clipped } from './clipped.ts'
import type { RunResult } from './documents/run-result.ts'

const PROVIDER_LENGTH_MAX = 128
/** Longer ones are no prompts: the prompt that was handed out is told instead. */
export const PROMPT_CHARS_MAX = 262_144

/** An object, in any shape; one that is a word has its reason and the rest beside it. Undefined: there is none. */
export function decisionIn(result: RunResult): unknown {
  return typeof result.decision === 'string' ? result : result.decision
}

/** Who decided, as far as it is said. */
export function providerIn({ agent_provider }: RunResult): string | undefined {
  const isSaid = typeof agent_provider === 'string' && agent_provider !== ''
  return isSaid ? clipped(agent_provider, PROVIDER_LENGTH_MAX) : undefined
}

/** What the agent was shown: the run may have put the prompt that was handed out into words of its own. */
export function promptIn<T>({ prompt }: RunResult, handedOut: T): string | T {
  return typeof prompt === 'string' && prompt !== '' && prompt.length <= PROMPT_CHARS_MAX ? prompt : handedOut
}
