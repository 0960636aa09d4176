/** Opening an advance, ending one without an agent, and standing one down: what the other steps are built from. */
import { statedEndMs } from '../run-request/failure.ts'
import type { CampaignContext, CampaignMessage, Of, Start, TaskResult, Work } from './context.ts'
import { type Draft, PROVIDER_TIMER } from './draft.ts'
import { gatesOf } from './evidence.ts'
import * as facts from './facts.ts'
import { seenNow } from './initiatives.ts'
import { promptOf } from './prompt.ts'
import { resultOf, take } from './results.ts'

/** How many emitted requests may join the formation under way: each gets an event of its own at the end. */
export const JOINED_MAX = 32
/** How many emitted requests are remembered: more than may wait for one formation. */
const REQUESTS_MAX = 64

export type Step = (draft: Draft, message: any) => void
export type StoppedStatus = 'paused' | 'escalated' | 'completed' | 'cancelled'

/** Asks for the next step: opens a read-only run that forms it. */
export const form: Step = (draft, message: CampaignMessage) => {
  const result = resultOf(draft.context, message)
  if (result !== undefined) take(draft, result)
  // A result that came to nothing because its provider was unavailable is nothing to form from.
  const { pending } = draft.context
  const from = namedIn(message) ?? pending
  const prompt = promptOf(draft.context, from)
  const opened = openAdvance(draft, prompt, from)
  draft.set({ work: { ...opened, since: message.at, prompt } })
  const asker = message.type === 'advance' ? message.event_id : undefined
  draft.keep({ askers: [asker ?? null], forming: undefined, ...seenNow(draft.context) })
  requested(draft, message, opened, pending)
  draft.setReason('its next step is being formed', message.at)
}

/** The result that an emitted request names: it is shown to the formation, but neither counted nor kept. */
function namedIn(message: CampaignMessage): Start | undefined {
  const { run_event_id: event_id, run_result: payload } = message as Of<'advance'>
  return event_id === undefined && payload === undefined ? undefined : { event_id, payload }
}

function openAdvance(draft: Draft, prompt: string, { event_id, payload }: Start = {}) {
  const { name, asked } = draft.context
  return draft.open('advance', {
    objective: formingOf(name),
    payload: {
      campaign: name,
      prompt,
      ...(event_id === undefined ? {} : { run_event_id: event_id }),
      ...(payload === undefined ? {} : { run_result: payload }),
      gates: gatesOf(asked.done_evidence),
      ...(asked.context_paths === undefined ? {} : { context_paths: asked.context_paths }),
      ...providerFor(draft.context),
    },
  })
}

/** The provider whose agents are to do the work; its runner must heed it. */
export function providerFor({ asked: { agent_provider } }: CampaignContext): { readonly agent_provider?: string } {
  return agent_provider === undefined ? {} : { agent_provider }
}

function formingOf(name: string): string {
  return `Form the next step of campaign ${name}`
}

/** States the request for an advance, unless an emitted request already did. */
function requested(
  draft: Draft,
  message: CampaignMessage,
  opened: Pick<Work, 'trace_id' | 'span_id'>,
  result: TaskResult | undefined,
): void {
  const { event_id } = message as Of<'advance'>
  draft.setTrace(opened, event_id ?? null)
  if (message.type !== 'advance' || event_id === undefined) {
    draft.facts.push(facts.advanceRequested(draft.context, result))
    return
  }
  hear(draft, event_id)
}

function hear(draft: Draft, event_id: string): void {
  draft.keep({ requests: [...draft.context.internal.requests, event_id].slice(-REQUESTS_MAX) })
}

/** Number of emitted requests that have joined the formation, besides the one that started it. */
export function joinedCount({ internal }: CampaignContext): number {
  return (internal.askers?.length ?? 1) - 1
}

/** An emitted request that arrives while the next step is being formed: it ends when that formation does. */
export const joinForming: Step = (draft, { event_id }: Of<'advance'>) => {
  draft.keep({ askers: [...(draft.context.internal.askers ?? [null]), event_id!] })
  hear(draft, event_id!)
}

/** An advance that is over as it begins: no agent is asked. */
export function advanceAtOnce(
  draft: Draft,
  message: CampaignMessage,
  result: TaskResult | undefined,
  reason: string,
): void {
  const opened = draft.open('advance', { objective: formingOf(draft.context.name), reason })
  requested(draft, message, opened, result)
  draft.settle(opened.item_id, 'landed', reason)
}

export function standsDown(draft: Draft, campaign_status: StoppedStatus, reason: string, told: object = {}): void {
  const decided = { success: true, decision: 'stood_down', campaign_status, reason, ...told } as const
  draft.endAdvance(decided)
}

/**
 * Stops the formation under way: nothing comes of it, even if its run completes after all, since it looked at the state
 * before the stop and its end has been stated. If the campaign goes on, the next formation is opened at once, and the
 * scheduler hands it out when that run has ended. A cycle is not affected.
 */
export function standDown(draft: Draft, status: StoppedStatus): void {
  const { work } = draft.context
  if (work?.role !== 'advance') return
  const reason = `stood down: the campaign is ${status}`
  draft.set({ work: undefined })
  standsDown(draft, status, reason)
  draft.settle(work.item_id, 'landed', reason)
}

/** Puts this step's facts on the trace of the advance it stands down, or else on the campaign's own. */
export function speakOfStop(draft: Draft): void {
  const { work } = draft.context
  draft.setTrace(work?.role === 'advance' ? work : undefined)
}

export function standDownAtOnce(
  draft: Draft,
  message: CampaignMessage,
  status: StoppedStatus,
  result: TaskResult | undefined,
): void {
  const reason = `stood down: the campaign is ${status}`
  advanceAtOnce(draft, message, result, reason)
  standsDown(draft, status, reason)
}

/** Answers a request that was emitted while the campaign is stopped. */
export const standDownRequest = (status: StoppedStatus): Step => {
  return (draft, message: Of<'advance'>) => standDownAtOnce(draft, message, status, undefined)
}

/**
 * Answers an emitted request that was let in before the cycle under way existed or before that was to be stopped, or
 * that finds the maximum number already waiting: nothing comes of it, and its sender is told so. Those who wait for
 * what is under way go on waiting.
 */
export const answerBusy: Step = (draft, message: Of<'advance'>) => {
  const { name, work, stopping, internal } = draft.context
  const { objective = formingOf(name) } = work!
  const reason = `nothing was decided: ${whyBusy(draft.context)}`
  draft.keep({ askers: undefined })
  advanceAtOnce(draft, message, undefined, reason)
  const undecided = { success: false, decision: 'advance', objective, reason } as const
  if (stopping?.from === 'paused') standsDown(draft, 'paused', reason)
  else draft.endAdvance(undecided)
  draft.keep({ askers: internal.askers })
}

function whyBusy(context: CampaignContext): string {
  const { role, cycle, item_id } = context.work!
  if (role === 'advance') return `${joinedCount(context)} requests are already waiting for the formation ${item_id}`
  return context.stopping === undefined
    ? `cycle ${cycle} is under way as ${item_id}, and its result will advance the campaign`
    : `cycle ${cycle} is being stopped as ${item_id}, and the campaign will be cancelled with it`
}

export function escalate(draft: Draft, message: CampaignMessage, reason: string): void {
  draft.setReason(reason, message.at)
  draft.facts.push(facts.escalated(draft.context, reason))
}

export function pauseForProvider(draft: Draft, message: CampaignMessage, reason: string, retryAfter: unknown): void {
  draft.unpause()
  const dueMs = statedEndMs(retryAfter, message.atMs)
  const until = dueMs === undefined ? {} : { until: new Date(dueMs).toISOString() }
  draft.set({ paused: { by: 'provider', ...until } })
  if (dueMs !== undefined) draft.schedules.push({ timer: PROVIDER_TIMER, dueMs, message: { type: 'provider_back' } })
  draft.setReason(`its provider is unavailable: ${reason}`, message.at)
  draft.facts.push(facts.paused(draft.context, reason))
}
