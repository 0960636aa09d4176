/** Who hears of a run request's move besides those who watch: the work item that it was made for, the brief that it follows. */
import { tellBriefAccepted, tellBriefEnded, tellBriefLost, tellBriefQueued, tellBriefStarted } from './brief.ts'
import { tellEnded, tellLost, tellRequeued, tellStarted } from './item.ts'

export const waits = tellBriefQueued
export const accepted = tellBriefAccepted
/** Of work that had begun, which only a person or a retry policy hands out again. */
export const requeued = tellRequeued
export const waitsAgain = [tellRequeued, tellBriefQueued] as const
export const begun = [tellStarted, tellBriefStarted] as const
export const lost = [tellLost, tellBriefLost] as const
export const ended = (outcome: 'completed' | 'failed' | 'cancelled') =>
  [tellEnded(outcome), tellBriefEnded(outcome)] as const
