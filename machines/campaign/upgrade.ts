/** Migrations of campaigns stored by earlier versions. */
import type { SnapshotOf } from '../machine.ts'
import type { CampaignContext, KeptWork, TaskResult } from './context.ts'

/**
 * Version 6 did not record whether a runner had begun the cycle: it counts as begun, as it did then. A campaign that
 * its owner paused with a question open had been escalated, and nobody has answered.
 */
export function toVersion7(snapshot: SnapshotOf<CampaignContext>): SnapshotOf<CampaignContext> {
  const { value, context } = snapshot
  const { work, paused, question } = context
  const begun = work?.role === 'cycle' ? { work: { ...work, begun: true } as const } : {}
  const isAsked = value === 'paused' && paused?.by === 'owner' && question !== undefined
  const asked = isAsked ? { paused: { ...paused, escalated: `its task needs a decision: ${question.finding}` } } : {}
  return { ...snapshot, context: { ...context, ...begun, ...asked } }
}

interface Internal7 {
  readonly chain: readonly string[]
  readonly base_ref?: string
  readonly astray?: string
}

/**
 * Version 7 kept a single chain of kept work, without what a cycle had been begun upon before the chain became shorter:
 * assuming that it stands upon what is left is the best that can be said. A result kept during a pause was not in the
 * chain yet.
 */
export function toVersion8(snapshot: SnapshotOf<CampaignContext>): SnapshotOf<CampaignContext> {
  const { history, work, pending, last_run_event_id, internal } = snapshot.context
  const { chain, base_ref, astray, ...others } = internal as typeof internal & Internal7
  const outcomeOf = (id: string) => history.find(({ outcome }) => outcome.item_id === id)?.outcome
  const kept: KeptWork[] = []
  for (const item_id of chain) {
    const upon = kept.at(-1)?.item_id
    const ref = item_id === chain.at(-1) ? base_ref : outcomeOf(item_id)?.preservation_ref
    if (outcomeOf(item_id)?.state !== 'landed') kept.push(keptAs(item_id, ref, upon))
  }
  const base = kept.at(-1)?.item_id
  const cycle =
    work?.role === 'cycle' ? { ...(base && { upon: base }), ...(astray === work.item_id && { astray: true }) } : {}
  const context = {
    ...snapshot.context,
    ...(work && { work: { ...work, ...cycle } as typeof work }),
    internal: { ...others, kept, ...(base && { base }) },
  }
  const result = pending?.event_id === last_run_event_id ? undefined : pending
  return { ...snapshot, context: result === undefined ? context : withResult(context, result, astray) }
}

function keptAs(item_id: string, ref: unknown, upon: string | undefined): KeptWork {
  return { item_id, ...(typeof ref === 'string' && { ref }), ...(upon !== undefined && { upon }) }
}

function withResult(context: CampaignContext, result: TaskResult, astray: string | undefined): CampaignContext {
  const { kept, base, ...others } = context.internal
  const { item_id, payload } = result
  const { preservation_ref: ref, landed } = payload
  if (landed === true) {
    const items = kept.map((one) => one.item_id)
    const untold = { items, ...(typeof ref === 'string' && { commit: ref }) }
    return { ...context, internal: { ...others, kept: [], ...(items.length > 0 && { untold }) } }
  }
  if (typeof ref !== 'string') return context
  const next = astray === item_id ? base : item_id
  const all = [...kept, keptAs(item_id, ref, base)]
  return { ...context, internal: { ...others, kept: all, ...(next && { base: next }) } }
}
