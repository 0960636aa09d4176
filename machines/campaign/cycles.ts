/** What the end of a cycle makes of its campaign, wherever that stands by then. */
import {
  advanceAtOnce,
  escalate,
  form,
  pauseForProvider,
  type Step,
  type StoppedStatus,
  standDownAtOnce,
} from './advance.ts'
import type { CampaignContext, CampaignMessage, Of, TaskResult } from './context.ts'
import type { Draft } from './draft.ts'
import { build, outageIn, resultOf, stamp, take, takeBack } from './results.ts'

/** The decision stands without a formation: the result of the last cycle, or its want, leaves no other. */
export const escalateAtOnce: Step = (draft, message: CampaignMessage) => {
  const result = resultOf(draft.context, message)
  const reason = reasonWithoutAgent(draft.context, message, result)
  if (result !== undefined) take(draft, result)
  if (message.type === 'item_settled') endCycle(draft, message)
  const { finding, options } = result?.payload ?? {}
  if (result?.payload.verdict === 'blocked_on_decision') {
    draft.set({ question: { finding: String(finding), options: Array.isArray(options) ? options.map(String) : [] } })
  }
  draft.keep({ owing: result?.item_id ?? (isFailed(message) ? message.item_id : undefined) })
  draft.unpause()
  advanceAtOnce(draft, message, result, `escalated without an agent: ${reason}`)
  const decided = { success: true, decision: 'escalate', reason } as const
  draft.endAdvance(decided)
  escalate(draft, message, reason)
}

function isFailed(message: CampaignMessage): message is Of<'item_settled'> {
  return message.type === 'item_settled' && message.state === 'failed'
}

function reasonWithoutAgent(
  { work, authorized_by }: CampaignContext,
  message: CampaignMessage,
  result: TaskResult | undefined,
): string {
  if (result !== undefined) {
    const { verdict, finding, options, detail, summary } = result.payload
    if (verdict !== 'blocked_on_decision') return `its task failed: ${detail ?? summary ?? 'it does not say why'}`
    const choices = Array.isArray(options) && options.length > 0 ? ` (${options.join('; ')})` : ''
    return `its task needs a decision: ${finding}${choices}`
  }
  if (message.type === 'item_settled') return `cycle ${work?.cycle} ended without a task result: ${message.reason}`
  return authorized_by === undefined ? 'nobody has authorized it' : 'it cannot go on'
}

/** The cycle is over; one that nobody began is not charged. */
function endCycle(draft: Draft, message: Of<'item_settled'>): void {
  if (message.started || message.terminal !== undefined) stamp(draft, message.item_id, { state: message.state })
  else takeBack(draft)
  draft.set({ work: undefined })
}

export const formAfterCycle: Step = (draft, message: Of<'item_settled'>) => {
  endCycle(draft, message)
  form(draft, message)
}

/** No agent of the cycle could be reached: nothing was done, and nothing is charged. */
export const giveCycleBack: Step = (draft, message: Of<'item_settled'>) => {
  takeBack(draft)
  draft.set({ work: undefined })
  draft.keep({ owing: isFailed(message) ? message.item_id : undefined })
}

/** The same, and it waits until its provider is back. Not where an owner has paused it: then it waits for the owner. */
export const pauseAfterCycle: Step = (draft, message: Of<'item_settled'>) => {
  draft.speakOn(draft.context.work)
  giveCycleBack(draft, message)
  const retryAfter = message.terminal?.payload.retry_after
  pauseForProvider(draft, message, outageIn(message)!, retryAfter)
}

/** A result that came while it was stopped waits for it to go on: nothing is counted, and nothing follows. */
export const keepResult: Step = (draft, message: Of<'item_settled'>) => {
  const result = resultOf(draft.context, message)!
  draft.set({ work: undefined, pending: result })
  stamp(draft, message.item_id, { state: message.state })
  standDownAtOnce(draft, message, 'paused', result)
}

/** The last cycle of a campaign that is over: not counted, but what it was built upon has landed with it. */
export const dropResult = (status: StoppedStatus): Step => {
  return (draft, message: Of<'item_settled'>) => {
    stamp(draft, message.item_id, { state: message.state })
    draft.set({ work: undefined })
    const result = resultOf(draft.context, message)
    if (result !== undefined) build(draft, result)
    if (message.terminal !== undefined) standDownAtOnce(draft, message, status, result)
  }
}

/** News of a cycle that is over: work that was preserved may land later. */
export const note: Step = (draft, message: Of<'item_settled'>) => {
  stamp(draft, message.item_id, { state: message.state, ...(message.state === 'landed' ? { landed: true } : {}) })
  const { chain } = draft.context.internal
  if (message.state === 'landed' && chain.at(-1) === message.item_id) draft.keep({ base_ref: undefined, chain: [] })
}
