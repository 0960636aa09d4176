/** Opening an advance, ending one that no agent is asked for, and standing it down: what every other step is made of. */
import type { CampaignContext, CampaignMessage, Of, Start, TaskResult, Work } from './context.ts'
import { type Draft, PROVIDER_TIMER } from './draft.ts'
import { gatesOf } from './evidence.ts'
import * as facts from './facts.ts'
import { seenNow } from './initiatives.ts'
import { promptOf } from './prompt.ts'
import { resultOf, take } from './results.ts'

/** Emitted requests that may join what is being formed: each is told of its end by an event of its own. */
export const JOINED_MAX = 32
/** Emitted requests that are remembered: more than may wait for one formation. */
const REQUESTS_MAX = 64

export type Step = (draft: Draft, message: any) => void
export type StoppedStatus = 'paused' | 'escalated' | 'completed' | 'cancelled'

/** Asks for the next step: a read-only run that forms it. */
export const form: Step = (draft, message: CampaignMessage) => {
  const result = resultOf(draft.context, message)
  if (result !== undefined) take(draft, result)
  // One that came to nothing for want of its provider is no result to form from.
  const { pending } = draft.context
  const from = namedIn(message) ?? pending
  const prompt = promptOf(draft.context, from)
  const opened = openAdvance(draft, prompt, from)
  draft.set({ work: { ...opened, since: message.at, prompt } })
  const asker = message.type === 'advance' ? message.event_id : undefined
  draft.keep({ askers: [asker ?? null], forming: undefined, ...seenNow(draft.context) })
  requested(draft, message, opened, pending)
  draft.stand('its next step is being formed', message.at)
}

/** The result that an emitted request names: the formation is told, and nothing is counted or kept of it. */
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

/** Whose agents are to do the work, for its runner to heed. */
export function providerFor({ asked: { agent_provider } }: CampaignContext): { readonly agent_provider?: string } {
  return agent_provider === undefined ? {} : { agent_provider }
}

function formingOf(name: string): string {
  return `Form the next step of campaign ${name}`
}

/** The request is told of, unless an emitted one is what asked. */
function requested(
  draft: Draft,
  message: CampaignMessage,
  opened: Pick<Work, 'trace_id' | 'span_id'>,
  result: TaskResult | undefined,
): void {
  const { event_id } = message as Of<'advance'>
  draft.speakOn(opened, event_id ?? null)
  if (message.type !== 'advance' || event_id === undefined) {
    draft.facts.push(facts.advanceRequested(draft.context, result))
    return
  }
  hear(draft, event_id)
}

function hear(draft: Draft, event_id: string): void {
  draft.keep({ requests: [...draft.context.internal.requests, event_id].slice(-REQUESTS_MAX) })
}

/** Emitted requests that have joined what is being formed, beside the one that it was begun with. */
export function joinedCount({ internal }: CampaignContext): number {
  return (internal.askers?.length ?? 1) - 1
}

/** Asked for by an emitted request while the next step is being formed: the end of that is its end, too. */
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
 * What forms now is stopped: nothing comes of it, also when its run completes after all, since it looked at what stood
 * before the stop, and its end has been told. The next formation is opened at once where the campaign goes on, and the
 * scheduler hands it out when that run has ended. A cycle goes on.
 */
export function standDown(draft: Draft, status: StoppedStatus): void {
  const { work } = draft.context
  if (work?.role !== 'advance') return
  const reason = `stood down: the campaign is ${status}`
  draft.set({ work: undefined })
  standsDown(draft, status, reason)
  draft.settle(work.item_id, 'landed', reason)
}

/** The trace of the advance that stands down with this step, else its own. */
export function speakOfStop(draft: Draft): void {
  const { work } = draft.context
  draft.speakOn(work?.role === 'advance' ? work : undefined)
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

/** A request that was emitted while it is stopped has an end, too. */
export const standDownRequest = (status: StoppedStatus): Step => {
  return (draft, message: Of<'advance'>) => standDownAtOnce(draft, message, status, undefined)
}

/**
 * One that was let in before the cycle was there that is under way, before that was to be stopped, or beside so many
 * others that no more may wait: nothing comes of it, and who asked hears so. Who waits for what is under way still does.
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
  if (role === 'advance') return `${joinedCount(context)} requests wait already for what is formed as ${item_id}`
  return context.stopping === undefined
    ? `cycle ${cycle} is under way as ${item_id}, and its result advances the campaign`
    : `cycle ${cycle} is being stopped as ${item_id}, and the campaign is cancelled with it`
}

export function escalate(draft: Draft, message: CampaignMessage, reason: string): void {
  draft.stand(reason, message.at)
  draft.facts.push(facts.escalated(draft.context, reason))
}

export function pauseForProvider(draft: Draft, message: CampaignMessage, reason: string, retryAfter: unknown): void {
  draft.unpause()
  const dueMs = dueOf(retryAfter, message.atMs)
  const until = dueMs === undefined ? {} : { until: new Date(dueMs).toISOString() }
  draft.set({ paused: { by: 'provider', ...until } })
  if (dueMs !== undefined) draft.schedules.push({ timer: PROVIDER_TIMER, dueMs, message: { type: 'provider_back' } })
  draft.stand(`its provider cannot be used: ${reason}`, message.at)
  draft.facts.push(facts.paused(draft.context, reason))
}

/** Longest time that a provider may put a campaign off by itself, milliseconds: eight days. */
const PROVIDER_PAUSE_MS_MAX = 691_200_000
/** The shortest: a provider that says "now" and cannot be used then is not asked ten times a second. */
const PROVIDER_PAUSE_MS_MIN = 30_000

/** Seconds from now, or a time. What is neither, or absurd, is not believed: an owner goes on then. */
function dueOf(retryAfter: unknown, atMs: number): number | undefined {
  // Of a Run Result, which is open: an object may not even have a text.
  if (typeof retryAfter !== 'number' && typeof retryAfter !== 'string') return undefined
  const dueMs = typeof retryAfter === 'number' ? atMs + retryAfter * 1000 : Date.parse(retryAfter)
  const isBelieved = dueMs >= atMs && dueMs <= atMs + PROVIDER_PAUSE_MS_MAX
  return isBelieved ? Math.max(Math.round(dueMs), atMs + PROVIDER_PAUSE_MS_MIN) : undefined
}
