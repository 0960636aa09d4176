/** The steps by which owners move a campaign: pause, resume, decide, complete, cancel. */
import { OWNER_DECISIONS_MAX } from '../documents/campaign.ts'
import { nameOf } from '../machine.ts'
import { form, type Step, speakOfStop, standDown } from './advance.ts'
import { build, startFromTrunk } from './chain.ts'
import type { CampaignContext, CampaignMessage, Of, Stopping } from './context.ts'
import { dropResult, endCycle, escalateAtOnce } from './cycles.ts'
import type { Draft } from './draft.ts'
import * as facts from './facts.ts'
import { resultOf, stamp, take, takeBack } from './results.ts'

export const pause: Step = (draft, message: Of<'pause'>) => {
  const words = `paused by ${nameOf(message.by)}${message.reason === undefined ? '' : `: ${message.reason}`}`
  speakOfStop(draft)
  draft.unpause()
  draft.set({ paused: { by: 'owner' } })
  draft.setReason(words, message.at)
  draft.facts.push(facts.ownerMove('owner_paused', draft.context, { status: 'paused', reason: words }))
  standDown(draft, 'paused')
}

/** Its question to the owner stays open: a pause is no answer. */
export const pauseEscalated: Step = (draft, message: Of<'pause'>) => {
  const { reason } = draft.context
  pause(draft, message)
  draft.set({ paused: { by: 'owner', escalated: reason } })
}

/** An owner's word about the campaign discharges the item that still owes something. */
function discharge(draft: Draft, message: CampaignMessage, why: string): void {
  const { owing } = draft.context.internal
  if (owing === undefined) return
  const by = message.by === undefined ? {} : { by: message.by }
  const close = { type: 'close', discharges: true, reason: why, ...by } as const
  draft.sends.push({ to: { kind: 'work_item', id: owing }, message: close })
  draft.keep({ owing: undefined })
}

/** The campaign goes on by an owner's word, or because its provider is back. Another step decides what it does next. */
function goOn(draft: Draft, message: Of<'resume'> | Of<'decide'> | Of<'provider_back'>): void {
  const { authorized_by, max_cycles } = draft.context
  const added = message.type === 'resume' ? (message.add_cycles ?? 0) : 0
  const anew = message.type !== 'provider_back' && message.from_trunk === true
  draft.unpause()
  draft.set({ authorized_by: authorized_by ?? message.by?.name, max_cycles: max_cycles + added })
  // The owner's word settles what the last cycle asked: the next escalation brings its own question.
  if (message.type !== 'provider_back') draft.set({ question: undefined })
  // No owner has spoken about the task that failed with the outage, and a later word will be about something else.
  else draft.keep({ owing: undefined })
  if (message.type === 'decide') {
    addDecision(draft, message.decision, message)
    discharge(draft, message, `decided: ${message.decision}`)
  } else if (message.type === 'resume') discharge(draft, message, `the campaign ${draft.context.name} was resumed`)
  if (anew) startFromTrunk(draft, message)
  const words = message.type === 'provider_back' ? 'its provider may be back' : resumption(message)
  const base = anew ? ({ from_trunk: true } as const) : {}
  draft.setReason(words, message.at)
  const fact =
    message.type === 'decide'
      ? facts.ownerMove('decided', draft.context, { status: 'active', decision: message.decision, ...base })
      : facts.ownerMove('resumed', draft.context, {
          status: 'active',
          reason: withMore(words, added),
          ...base,
        })
  draft.facts.push(fact)
}

function resumption({ by }: CampaignMessage): string {
  return `resumed by ${nameOf(by)}`
}

function withMore(words: string, cycles: number): string {
  return cycles === 0 ? words : `${words}, with ${cycles} more cycles`
}

function addDecision(draft: Draft, decision: string, { by, at }: CampaignMessage): void {
  const made = { decision, authorized_by: nameOf(by), decided_at: at }
  draft.set({ owner_decisions: [...draft.context.owner_decisions, made].slice(-OWNER_DECISIONS_MAX) })
}

export const resumeWaiting: Step = (draft, message: Of<'resume'>) => {
  draft.setTrace(undefined)
  goOn(draft, message)
}

export const resumeForming: Step = (draft, message: Of<'resume'>) => {
  goOn(draft, message)
  form(draft, message)
}

export const resumeEscalating: Step = (draft, message: Of<'resume'>) => {
  goOn(draft, message)
  escalateAtOnce(draft, message)
}

/** The pause is over, and the earlier question is still unanswered: the campaign is escalated as before. */
export const resumeEscalated: Step = (draft, message: Of<'resume'>) => {
  const { paused, max_cycles } = draft.context
  const { add_cycles = 0, from_trunk, at } = message
  draft.setTrace(undefined)
  draft.unpause()
  draft.set({ max_cycles: max_cycles + add_cycles })
  if (from_trunk === true) startFromTrunk(draft, message)
  draft.setReason(paused!.escalated!, at)
  const reason = withMore(resumption(message), add_cycles)
  const base = from_trunk === true ? ({ from_trunk } as const) : {}
  draft.facts.push(facts.ownerMove('resumed', draft.context, { status: 'escalated', reason, ...base }))
}

/** The decision text that records an owner's word that the campaign is complete. */
export function completion(reason: string): string {
  return `complete: ${reason}`
}

export const complete: Step = (draft, message: Of<'complete'>) => {
  const { reason, at } = message
  const why = `its campaign is complete: ${reason}`
  speakOfStop(draft)
  draft.unpause()
  callOff(draft, message, why)
  const { authorized_by } = draft.context
  draft.set({
    authorized_by: authorized_by ?? message.by?.name,
    pending: undefined,
    question: undefined,
    ended_at: at,
  })
  addDecision(draft, completion(reason), message)
  draft.setReason(`completed by ${nameOf(message.by)}: ${reason}`, at)
  draft.facts.push(facts.completed(draft.context, reason))
  discharge(draft, message, why)
  standDown(draft, 'completed')
}

/**
 * A waiting cycle ends and is not charged; a running one finishes, and nothing follows it. Must run before the
 * campaign's end is stated, since that fact counts the cycles.
 */
function callOff(draft: Draft, { by, reason }: Of<'cancel'> | Of<'complete'>, why: string): void {
  const { work } = draft.context
  if (work?.role !== 'cycle') return
  const message = { type: 'cancel_waiting', reason: why, ...(by && { by }) } as const
  draft.sends.push({ to: { kind: 'work_item', id: work.item_id }, message })
  if (work.begun === true) return
  takeBack(draft)
  draft.set({ work: { ...work, called_off: reason } })
}

function cancelWords({ by, reason }: Pick<Of<'cancel'>, 'by' | 'reason'>): string {
  return `cancelled by ${nameOf(by)}: ${reason}`
}

/**
 * Any cancel stands the formation down. If it was to end now and a runner had begun it, its run is what was terminated;
 * a formation is read-only, so no work is discarded.
 */
function abortedForming({ work }: CampaignContext, { now, aborting }: Of<'cancel'>): facts.Aborted | undefined {
  if (now !== true || work?.role !== 'advance' || aborting?.item_id !== work.item_id) return undefined
  return { discard_work: false, aborted_event_id: aborting.event_id, aborted_trace_id: work.trace_id }
}

export const cancel: Step = (draft, message: Of<'cancel'>) => {
  const { reason, at } = message
  const why = `its campaign was cancelled: ${reason}`
  speakOfStop(draft)
  draft.unpause()
  callOff(draft, message, why)
  draft.set({ pending: undefined, question: undefined, ended_at: at })
  draft.setReason(cancelWords(message), at)
  draft.facts.push(facts.cancelled(draft.context, reason, abortedForming(draft.context, message)))
  discharge(draft, message, why)
  standDown(draft, 'cancelled')
}

/** A cycle that no runner had begun, or that was done before the stop came, was not aborted. */
function isAborted({ started, state }: Of<'item_settled'>): boolean {
  return started && state === 'cancelled'
}

/** Identifies what was stopped. */
function abortedOf({ stopping, work }: CampaignContext): facts.Aborted {
  const { discard_work, aborted_event_id } = stopping!
  return { discard_work, ...(aborted_event_id && { aborted_event_id }), aborted_trace_id: work!.trace_id }
}

/** The last cycle of a campaign cancelled first gracefully and then with `now`: states what was aborted. */
export const dropStopped: Step = (draft, message: Of<'item_settled'>) => {
  const { stopping } = draft.context
  const aborted = abortedOf(draft.context)
  draft.set({ stopping: undefined })
  draft.setReason(cancelWords(stopping!), message.at)
  if (!isAborted(message)) return dropResult('cancelled')(draft, message)
  build(draft, message)
  stamp(draft, message.item_id, { state: message.state })
  draft.setTrace(undefined)
  draft.set({ work: undefined })
  draft.facts.push(facts.cancelled(draft.context, stopping!.reason, aborted))
}

/** Stops its cycle first; the campaign's cancellation is stated when that has ended. */
export const stopCycle = (from: string): Step => {
  return (draft, message: Of<'cancel'>) => {
    const { by, reason, discard_work = false, aborting, at } = message
    const { work } = draft.context
    const handle = aborting?.item_id === work!.item_id ? { aborted_event_id: aborting.event_id } : {}
    draft.unpause()
    stop(draft, { ...(by && { by }), reason, discard_work, ...handle, from }, at)
  }
}

/** Its cycle is already being stopped with its uncommitted work kept; now that is to be discarded. */
export const discardCycle: Step = (draft, { by, reason, at }: Of<'cancel'>) => {
  const { by: _, ...stopping } = draft.context.stopping!
  stop(draft, { ...stopping, ...(by && { by }), reason, discard_work: true }, at)
}

function stop(draft: Draft, stopping: Stopping, at: string): void {
  const { by, reason, discard_work } = stopping
  draft.set({ stopping })
  draft.setReason(`its cycle is being stopped: ${reason}`, at)
  const why = `its campaign was cancelled: ${reason}`
  // `stop_only`: work that the cycle preserves in that moment is not given up by this; only a person gives it up.
  const message = { type: 'cancel', stop_only: true, reason: why, discard_work, ...(by && { by }) } as const
  draft.sends.push({ to: { kind: 'work_item', id: draft.context.work!.item_id }, message })
}

export const cancelStopped: Step = (draft, message: Of<'item_settled'>) => {
  const { stopping } = draft.context
  const { reason } = stopping!
  const aborted = abortedOf(draft.context)
  const result = resultOf(draft.context, message)
  if (result !== undefined) take(draft, result)
  endCycle(draft, message)
  draft.setTrace(undefined)
  draft.set({ stopping: undefined, pending: undefined, question: undefined, ended_at: message.at })
  draft.setReason(cancelWords(stopping!), message.at)
  draft.facts.push(facts.cancelled(draft.context, reason, isAborted(message) ? aborted : undefined))
  discharge(draft, message, `its campaign was cancelled: ${reason}`)
}
