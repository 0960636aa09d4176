/** What the end of a cycle means to its campaign: its result is counted once, and remembered. */

import { clipped } from '../clipped.ts'
import { HISTORY_MAX } from '../documents/campaign.ts'
import { refIn } from '../documents/fields.ts'
import { saysNotBegun, UNKNOWN_BASE } from '../run-request/failure.ts'
import type { CampaignContext, CampaignMessage, CycleOutcome, Of, TaskResult } from './context.ts'
import type { Draft } from './draft.ts'
import { outageOf } from './formation.ts'

const SUMMARY_CHARS_MAX = 500

/** A result that came while the campaign was stopped, and that no formation has been given yet. */
function unlookedAt({ pending, last_run_event_id }: CampaignContext): TaskResult | undefined {
  return pending?.event_id === last_run_event_id ? undefined : pending
}

/** The typed result that a step starts from: the one that has just come, or one that was kept for later. */
export function resultOf(context: CampaignContext, message: CampaignMessage): TaskResult | undefined {
  return message.type === 'item_settled' ? typedResult(message) : unlookedAt(context)
}

function typedResult({ item_id, terminal, failure }: Of<'item_settled'>): TaskResult | undefined {
  if (terminal === undefined) return undefined
  const unreachable = outageOf(failure) ?? outageOf(failureTold(terminal.payload))
  return { ...terminal, item_id, ...(unreachable === undefined ? {} : { outage: unreachable }) }
}

/** The failure that a task result names, if it does. */
function failureTold({ failure_code: code, detail }: TaskResult['payload']) {
  if (typeof code !== 'string') return undefined
  return { class: 'execution', code, message: typeof detail === 'string' ? detail : '' } as const
}

/** Words saying that the provider was unavailable for the run as a whole: a single agent's outage is not enough. */
export function outageIn(message: Of<'item_settled'>): string | undefined {
  const result = typedResult(message)
  if (result === undefined) return outageOf(message.failure)
  return result.payload.verdict === 'runner_error' ? result.outage : undefined
}

/** Whether its run could not begin: no agent did anything, and another cycle would not fix the cause. */
export function couldNotBegin(message: Of<'item_settled'>): boolean {
  const { terminal, failure } = message
  if (terminal === undefined) return saysNotBegun(failure?.class)
  const { verdict, failure_class } = terminal.payload
  const isUnbegun = saysNotBegun(failure_class ?? failure?.class) || isBaseUnknown(message)
  return verdict === 'runner_error' && isUnbegun
}

/** Whether the ref that it was to start from does not exist. */
export function isBaseUnknown({ terminal, failure }: Of<'item_settled'>): boolean {
  return (terminal?.payload.failure_code ?? failure?.code) === UNKNOWN_BASE
}

/** Counts the result and remembers it; `resultOf` returns each result only once. */
export function take(draft: Draft, result: TaskResult): void {
  const { cycles_landed } = draft.context
  const landed = result.payload.landed === true
  draft.set({
    last_run_event_id: result.event_id,
    pending: result,
    cycles_landed: cycles_landed + (landed ? 1 : 0),
  })
  stamp(draft, result.item_id, outcomeOf(result))
}

function outcomeOf({ payload }: TaskResult): Omit<CycleOutcome, 'item_id'> {
  const { verdict, landed, land_blocked, summary } = payload
  const preservation_ref = refIn(payload.preservation_ref)
  return {
    ...(typeof verdict === 'string' ? { verdict } : {}),
    landed: landed === true,
    ...(typeof land_blocked === 'string' ? { land_blocked } : {}),
    ...(preservation_ref === undefined ? {} : { preservation_ref }),
    ...(typeof summary === 'string' ? { summary: clipped(summary, SUMMARY_CHARS_MAX) } : {}),
  }
}

/** Records the outcome of an item in the history. */
export function stamp(draft: Draft, item_id: string, outcome: Partial<CycleOutcome>): void {
  const history = draft.context.history.map((entry) =>
    entry.outcome.item_id === item_id ? { ...entry, outcome: { ...entry.outcome, ...outcome } } : entry,
  )
  draft.set({ history })
}

export function remember(draft: Draft, cycle: number, objective: string, item_id: string): void {
  const entry = { cycle, objective, outcome: { item_id } }
  draft.set({ history: [...draft.context.history, entry].slice(-HISTORY_MAX) })
}

/** Does not charge a cycle in which no agent did anything, and restores the result it was formed from for the next. */
export function takeBack(draft: Draft): void {
  const { work, cycles_completed, history, pending } = draft.context
  draft.set({
    cycles_completed: cycles_completed - 1,
    history: history.filter(({ outcome }) => outcome.item_id !== work!.item_id),
    pending: pending ?? work!.formed_from,
  })
}
