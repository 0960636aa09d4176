/**
 * The answer of an agent that was asked for a campaign's or an initiative's next step, as its Run Result carries it. It
 * is advice: whoever asked decides what in it is sound, and what comes of it.
 */
import { clipped } from './clipped.ts'
import type { RunResult } from './documents/run-result.ts'

const PROVIDER_LENGTH_MAX = 128
/** A longer text cannot be the prompt: the prompt that was handed out is reported instead. */
export const PROMPT_CHARS_MAX = 262_144

/** The decision, an object of any shape. If it is a mere word: the whole result, where the reason stands beside it. */
export function decisionIn(result: RunResult): unknown {
  return typeof result.decision === 'string' ? result : result.decision
}

/** The provider whose agent decided, if the result names one. */
export function providerIn({ agent_provider }: RunResult): string | undefined {
  const isSaid = typeof agent_provider === 'string' && agent_provider !== ''
  return isSaid ? clipped(agent_provider, PROVIDER_LENGTH_MAX) : undefined
}

/** The prompt that the agent was shown: the run may have reworded the one that was handed out. */
export function promptIn<T>({ prompt }: RunResult, handedOut: T): string | T {
  return typeof prompt === 'string' && prompt !== '' && prompt.length <= PROMPT_CHARS_MAX ? prompt : handedOut
}
