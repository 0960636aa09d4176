/**
 * What a run request tells the formation brief it follows: that it is queued, was accepted, began, and how it ended. A
 * run request without a brief sends nothing.
 */
import type { FormationBriefBody } from '../formation-brief/context.ts'
import type { SendParams } from '../machine.ts'
import type { RunRequestContext, RunRequestMessage } from './context.ts'
import { lossOf, type News, type Step } from './item.ts'

/** Builds an action for the chart; each goes after the move it reports. */
const telling = (news: (context: RunRequestContext, message: RunRequestMessage) => News<FormationBriefBody>) => ({
  type: 'send' as const,
  params: ({ context, event }: Step): SendParams | undefined => {
    const { id: run_request_id, asked } = context
    if (asked.brief === undefined) return undefined
    const to = { kind: 'formation_brief', id: asked.brief.id } as const
    return { to, message: { ...news(context, event), run_request_id } }
  },
})

export const tellBriefQueued = telling(({ asked, throttle, created_at, internal, attempt, made }) => ({
  type: 'run_queued',
  requested_at: created_at,
  digest: asked.brief!.digest,
  throttle,
  entry_event: asked.entry_event,
  ...(asked.repo?.revision === undefined ? {} : { revision: asked.repo.revision }),
  approved: internal.approved,
  retries: asked.retry !== undefined,
  ...(asked.again === true ? { again: true } : {}),
  ...(made.elsewhere === true ? { elsewhere: true } : {}),
  ...(attempt === 1 ? {} : { reason: `attempt ${attempt} waits` }),
}))
export const tellBriefAccepted = telling(() => ({ type: 'run_accepted' }))
export const tellBriefStarted = telling(() => ({ type: 'run_started' }))
export const tellBriefLost = telling((_, message) => ({
  type: 'run_stopped',
  outcome: 'lost',
  reason: lossOf(message),
}))
export const tellBriefEnded = (outcome: 'completed' | 'failed' | 'cancelled') =>
  telling((c) => {
    if (outcome === 'completed') return { type: 'run_completed' }
    const reason = outcome === 'failed' ? c.failure!.message : (c.cancel?.reason ?? 'a stop was requested')
    return { type: 'run_stopped', outcome, reason }
  })
