/**
 * Work of a campaign's cycles that is kept and has not landed: what the next cycle starts from, and what lands with it.
 * Its invariant: what a person has given up, and what was begun upon that, is not built upon.
 */
import type { SnapshotOf } from '../machine.ts'
import type { CampaignContext, CampaignMessage, Of, TaskResult } from './context.ts'
import type { Draft } from './draft.ts'

/** A result that came while the campaign was stopped, and that no formation has been given yet. */
export function unlookedAt({ pending, last_run_event_id }: CampaignContext): TaskResult | undefined {
  return pending?.event_id === last_run_event_id ? undefined : pending
}

/** What landed takes along what it was built upon; what did not is what the next cycle builds upon. */
export function build(draft: Draft, { item_id, payload }: TaskResult): void {
  const { chain, base_ref, astray } = draft.context.internal
  const ref = refOf(payload)
  if (payload.landed !== true) {
    if (ref !== undefined && astray !== item_id) draft.keep({ base_ref: ref, chain: [...chain, item_id] })
    return
  }
  if (ref !== undefined) {
    for (const id of chain)
      draft.sends.push({ to: { kind: 'work_item', id }, message: { type: 'superseded', commit: ref } })
  }
  if (base_ref !== undefined || chain.length > 0) draft.keep({ base_ref: undefined, chain: [] })
}

function refOf({ preservation_ref: ref }: TaskResult['payload']): string | undefined {
  return typeof ref === 'string' ? ref : undefined
}

/** The newest of the kept work has landed by another way, and with it what it was built upon. */
export function noteLanding(draft: Draft, { item_id }: Of<'item_settled'>): void {
  const kept = unlookedAt(draft.context)?.item_id
  if ((kept ?? draft.context.internal.chain.at(-1)) !== item_id) return
  draft.keep({ base_ref: undefined, chain: [] })
  if (kept === item_id) draft.keep({ astray: item_id })
}

/** A person wants the kept work of this item no more: what was kept before it is built upon again, at last trunk. */
export function giveUp(draft: Draft, message: Of<'item_settled'>): void {
  const { item_id } = message
  const { chain } = draft.context.internal
  const place = chain.indexOf(item_id)
  if (place >= 0) returnTo(draft, message, chain.slice(0, place), `${item_id}, which was given up`)
  else if (unlookedAt(draft.context)?.item_id === item_id) draft.keep({ astray: item_id })
}

/** A person wants the next cycle to start from trunk: what is kept is left to its items. */
export function startFromTrunk(draft: Draft, message: CampaignMessage): void {
  returnTo(draft, message, [], 'kept work that was given up')
}

/** Nothing is built upon any more but `chain`. A cycle that was to start from more is formed anew, if nobody has begun it. */
function returnTo(draft: Draft, { by, at }: CampaignMessage, chain: readonly string[], what: string): void {
  const { history, work, paused, stopping, ended_at } = draft.context
  const last = history.find(({ outcome }) => outcome.item_id === chain.at(-1))?.outcome
  const base_ref = last?.state === 'landed' ? undefined : last?.preservation_ref
  const cycle = work?.role === 'cycle' ? work : undefined
  draft.keep({
    base_ref,
    chain: base_ref === undefined ? [] : chain,
    astray: cycle?.item_id ?? unlookedAt(draft.context)?.item_id,
  })
  if (cycle === undefined) return
  const reason = `it was to start from ${what}`
  const message = { type: 'cancel_waiting', reason, ...(by && { by }) }
  draft.sends.push({ to: { kind: 'work_item', id: cycle.item_id }, message })
  if (paused !== undefined || stopping !== undefined || ended_at !== undefined) return
  const words = `cycle ${cycle.cycle} was to start from ${what}`
  draft.stand(`${words}: it is formed anew, unless it has begun (intendant queue cancel ${cycle.item_id})`, at)
}

/** The cycle was stopped before anybody began it, since what it was to start from was given up. */
export function isCalledOff({ internal }: CampaignContext, message: Of<'item_settled'>): boolean {
  const { item_id, state, started, terminal } = message
  return internal.astray === item_id && state === 'cancelled' && !started && terminal === undefined
}

const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled'])

/** A cycle goes on from what the item has kept, or will: whoever resumed the item would do that work twice. */
export function isBuiltUpon({ value, context }: SnapshotOf<CampaignContext>, item_id: string): boolean {
  const { internal, work } = context
  if (OVER.has(value) && work?.role !== 'cycle') return false
  const kept = unlookedAt(context)
  const isKept = kept?.item_id === item_id && internal.astray !== item_id && refOf(kept.payload) !== undefined
  return isKept || internal.chain.includes(item_id)
}
