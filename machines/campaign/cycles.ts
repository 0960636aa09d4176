/** What the end of a cycle makes of its campaign, whatever its status by then. */
import { clipped } from '../clipped.ts'
import type { OwnFact } from '../machine.ts'
import { hasLanded } from '../work-item/owner.ts'
import {
  advanceAtOnce,
  escalate,
  form,
  pauseForProvider,
  type Step,
  type StoppedStatus,
  standDownAtOnce,
} from './advance.ts'
import { build, buildUncharged, giveUp, nextBaseRef, noteLanding } from './chain.ts'
import type { CampaignContext, CampaignMessage, Of, TaskResult } from './context.ts'
import type { Draft } from './draft.ts'
import { couldNotBegin, isBaseUnknown, outageIn, remember, resultOf, stamp, take, takeBack } from './results.ts'

/** How much of a runner's words goes into the reason, which is one bounded line and ends with the way out. */
const WHY_CHARS_MAX = 160
const REF_CHARS_MAX = 120

/** Escalates without a formation: the last cycle's result, or its absence, leaves no other decision. */
export const escalateAtOnce: Step = (draft, message: CampaignMessage) => {
  const result = resultOf(draft.context, message)
  const reason = reasonWithoutAgent(draft.context, message, result)
  if (result !== undefined && !isUnbegun(message)) take(draft, result)
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

function isUnbegun(message: CampaignMessage): boolean {
  return message.type === 'item_settled' && couldNotBegin(message)
}

function isFailed(message: CampaignMessage): message is Of<'item_settled'> {
  return message.type === 'item_settled' && message.state === 'failed'
}

function reasonWithoutAgent(
  context: CampaignContext,
  message: CampaignMessage,
  result: TaskResult | undefined,
): string {
  const { work, authorized_by } = context
  if (isUnbegun(message)) return reasonUnbegun(context, message as Of<'item_settled'>)
  if (result !== undefined) {
    const { verdict, finding, options, detail, summary } = result.payload
    if (verdict !== 'blocked_on_decision') return `its task failed: ${detail ?? summary ?? 'no reason given'}`
    const choices = Array.isArray(options) && options.length > 0 ? ` (${options.join('; ')})` : ''
    return `its task needs a decision: ${finding}${choices}`
  }
  if (message.type === 'item_settled') return `cycle ${work?.cycle} ended without a task result: ${message.reason}`
  return authorized_by === undefined ? 'nobody has authorized it' : 'it cannot continue'
}

/** Why the cycle could not begin, and the way out: the next cycle would fail in the same way. */
function reasonUnbegun(context: CampaignContext, message: Of<'item_settled'>): string {
  const { name, work } = context
  const { detail, summary } = message.terminal?.payload ?? {}
  const why = clipped(String(detail ?? summary ?? message.reason), WHY_CHARS_MAX)
  const words = `cycle ${work?.cycle} could not begin, and is not charged: ${why}`
  const base_ref = nextBaseRef(context)
  if (!isBaseUnknown(message) || base_ref === undefined) return `${words}; check its runner, and resume it`
  const way = `restore ${clipped(base_ref, REF_CHARS_MAX)} and resume it, or let it start from trunk`
  return `${words}; ${way}: intendant campaign resume ${name} --from-trunk`
}

/** Ends the cycle under way; one that no runner began is not charged, and leaves nothing. */
export function endCycle(draft: Draft, message: Of<'item_settled'>): void {
  const isBegun = (message.started || message.terminal !== undefined) && !couldNotBegin(message)
  if (isBegun) {
    stamp(draft, message.item_id, { state: message.state })
    build(draft, message)
  } else takeBack(draft)
  draft.set({ work: undefined })
}

export const noteBegun: Step = (draft) => {
  draft.set({ work: { ...draft.context.work!, begun: true } })
}

/** The cycle had begun just as it was called off: it is charged and goes on, and the end is stated once more. */
export const countAfterAll = (ended: (context: CampaignContext, reason: string) => OwnFact): Step => {
  return (draft) => {
    const { work, cycles_completed } = draft.context
    const { called_off, ...begun } = work!
    draft.set({ cycles_completed: cycles_completed + 1, work: { ...begun, begun: true } })
    remember(draft, begun.cycle!, begun.objective!, begun.item_id)
    draft.setTrace(undefined)
    draft.facts.push(ended(draft.context, called_off!))
  }
}

export const formAfterCycle: Step = (draft, message: Of<'item_settled'>) => {
  endCycle(draft, message)
  form(draft, message)
}

/** The cycle is not charged: no agent could go on with it. The next one builds on what was done by then. */
export const giveCycleBack: Step = (draft, message: Of<'item_settled'>) => {
  buildUncharged(draft, message)
  takeBack(draft)
  draft.set({ work: undefined })
  draft.keep({ owing: isFailed(message) ? message.item_id : undefined })
}

/** The same, and the campaign waits for its provider. Not used if an owner paused it: then it waits for the owner. */
export const pauseAfterCycle: Step = (draft, message: Of<'item_settled'>) => {
  draft.setTrace(draft.context.work)
  giveCycleBack(draft, message)
  const retryAfter = message.terminal?.payload.retry_after ?? message.retry_after
  pauseForProvider(draft, message, outageIn(message)!, retryAfter)
}

/** A result that came during a stop is kept for later: nothing is counted or follows, but landed work has landed. */
export const keepResult: Step = (draft, message: Of<'item_settled'>) => {
  const result = resultOf(draft.context, message)!
  endCycle(draft, message)
  draft.set({ pending: result })
  standDownAtOnce(draft, message, 'paused', result)
}

/** The last cycle of a campaign that is over: not counted, but what it was built upon has landed with it. */
export const dropResult = (status: StoppedStatus): Step => {
  return (draft, message: Of<'item_settled'>) => {
    stamp(draft, message.item_id, { state: message.state })
    build(draft, message)
    draft.set({ work: undefined })
    const result = resultOf(draft.context, message)
    if (message.terminal !== undefined) standDownAtOnce(draft, message, status, result)
  }
}

/** News of a cycle that is over: preserved work may land later, or be given up. */
export const note: Step = (draft, message: Of<'item_settled'>) => {
  const { item_id, state, reason, given_up } = message
  const more = hasLanded(message) ? { landed: true } : given_up === true ? { given_up: reason } : {}
  stamp(draft, item_id, { state, ...more })
  if (state === 'landed') noteLanding(draft, message)
  if (given_up === true) giveUp(draft, message)
}
