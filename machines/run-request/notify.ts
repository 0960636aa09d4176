/** Which actors hear of a run request's moves: the work item it was created for, the brief it follows, its runner. */
import { tellBriefAccepted, tellBriefEnded, tellBriefLost, tellBriefQueued, tellBriefStarted } from './brief.ts'
import { type Step, tellEnded, tellLost, tellRequeued, tellStarted } from './item.ts'
import { limitRunner } from './moves.ts'

export const waits = tellBriefQueued
/** A failure that says that the provider is unavailable also concerns the runner. */
export const limited = {
  type: 'send' as const,
  params: ({ context, event }: Step) => limitRunner(context, event),
}
export const accepted = tellBriefAccepted
/** For work that had begun, which only a person or a retry policy hands out again. */
export const requeued = tellRequeued
export const waitsAgain = [tellRequeued, tellBriefQueued] as const
export const begun = [tellStarted, tellBriefStarted] as const
export const lost = [tellLost, tellBriefLost] as const
export const ended = (outcome: 'completed' | 'failed' | 'cancelled') =>
  [tellEnded(outcome), tellBriefEnded(outcome)] as const
