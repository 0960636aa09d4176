/** What the end of a formation makes of its campaign: the steps behind each verdict. */
import { escalate, pauseForProvider, providerFor, type Step, standsDown } from './advance.ts'
import { nextBaseRef } from './chain.ts'
import type { Of } from './context.ts'
import type { Draft } from './draft.ts'
import * as facts from './facts.ts'
import { type Verdict, verdictOf } from './formation.ts'
import { handOn, toldOf } from './initiatives.ts'
import { remember } from './results.ts'

/** The verdict's members that every event about a formation carries. */
function saidOf({ prompt, agent_provider, gate_results }: Verdict) {
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(agent_provider === undefined ? {} : { agent_provider }),
    gate_results,
  }
}

/** Ends the formation that has answered; the caller acts on the verdict. */
function conclude(draft: Draft, message: Of<'item_reported'>): Verdict {
  const verdict = verdictOf(draft.context, message)
  draft.setTrace(draft.context.work)
  draft.set({ work: undefined, gate_results: verdict.gate_results })
  return verdict
}

export const takeStep: Step = (draft, message: Of<'item_reported'>) => {
  const verdict = conclude(draft, message) as Verdict & { readonly is: 'advance' }
  const { objective, reason } = verdict
  const { asked, pending, internal, cycles_completed } = draft.context
  const cycle = cycles_completed + 1
  const base_ref = nextBaseRef(draft.context)
  draft.set({ cycles_completed: cycle, pending: undefined, question: undefined })
  draft.settle(message.item_id, 'landed', `advance: ${reason}`)
  const opened = draft.open('cycle', {
    objective,
    cycle,
    context: { mission: asked.mission, reason, ...providerFor(draft.context), ...toldOf(internal) },
    ...(base_ref === undefined ? {} : { base_ref }),
  })
  const from = pending === undefined ? {} : { formed_from: pending }
  const upon = internal.base === undefined ? {} : { upon: internal.base }
  draft.set({ work: { ...opened, since: message.at, cycle, objective, ...from, ...upon } })
  remember(draft, cycle, objective, opened.item_id)
  handOn(draft, opened.item_id)
  const decided = { success: true, decision: 'advance', objective, reason, ...saidOf(verdict) } as const
  draft.endAdvance(decided)
  draft.setReason(`cycle ${cycle}: ${reason}`, message.at)
}

export const finish: Step = (draft, message: Of<'item_reported'>) => {
  const verdict = conclude(draft, message)
  const { reason } = verdict
  draft.set({ pending: undefined, question: undefined, ended_at: message.at })
  draft.settle(message.item_id, 'landed', `done: ${reason}`)
  const decided = { success: true, decision: 'done', reason, ...saidOf(verdict) } as const
  draft.endAdvance(decided)
  draft.facts.push(facts.completed(draft.context, reason))
  draft.setReason(`done: ${reason}`, message.at)
}

/** Asks an owner: the formation wants it, a guard does, or the formation came to nothing. */
export const askOwner: Step = (draft, message: Of<'item_reported'>) => {
  const verdict = conclude(draft, message)
  const { reason } = verdict
  const success = verdict.is !== 'fault'
  draft.settle(message.item_id, success ? 'landed' : 'failed', success ? `escalated: ${reason}` : reason)
  draft.keep({ owing: success ? undefined : message.item_id })
  const decided = { success, decision: 'escalate', reason, ...saidOf(verdict) } as const
  draft.endAdvance(decided)
  escalate(draft, message, reason)
}

/**
 * The provider is unavailable while the campaign forms: the campaign is paused and the formation stands down, with no
 * fault of its own (SPEC 6.8).
 */
export const pauseForming: Step = (draft, message: Of<'item_reported'>) => {
  const verdict = conclude(draft, message) as Verdict & { readonly is: 'outage' }
  const { reason, retry_after } = verdict
  const words = `its provider is unavailable: ${reason}`
  draft.settle(message.item_id, 'landed', `stood down: ${words}`)
  pauseForProvider(draft, message, reason, retry_after)
  standsDown(draft, 'paused', words, saidOf(verdict))
}

/** The formation's item ended in another way: a person stopped it. */
export const askAboutEnd: Step = (draft, message: Of<'item_settled'>) => {
  const reason = `the formation of its next step ended: ${message.reason}`
  draft.setTrace(draft.context.work)
  draft.set({ work: undefined })
  const decided = { success: false, decision: 'escalate', reason } as const
  draft.endAdvance(decided)
  escalate(draft, message, reason)
}
