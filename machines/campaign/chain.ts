/**
 * Work that a campaign's cycles have kept and that has not landed: what each cycle was begun upon, what the next one
 * starts from, and what lands with it. Invariants: landing work takes along all that it was begun upon, whatever the
 * campaign's status; nothing is built upon work that a person gave up, or upon what was begun upon that.
 */
import { refIn } from '../documents/fields.ts'
import type { SendParams, SnapshotOf } from '../machine.ts'
import type { CampaignContext, CampaignMessage, KeptWork, Of } from './context.ts'
import type { Draft } from './draft.ts'

/** What a cycle begun `upon` this item stands upon: the item, what that was begun upon, and so on down to trunk. */
function downFrom(kept: readonly KeptWork[], upon: string | undefined): readonly KeptWork[] {
  const found: KeptWork[] = []
  let next = upon
  // `kept` is ordered: what a cycle is begun upon was kept before it.
  for (const one of kept.toReversed()) {
    if (one.item_id !== next) continue
    found.push(one)
    next = one.upon
  }
  return found
}

function isUpon(kept: readonly KeptWork[], upon: string | undefined, item_id: string): boolean {
  return downFrom(kept, upon).some((one) => one.item_id === item_id)
}

/** The ref that the next cycle starts from; undefined means trunk. */
export function nextBaseRef({ internal: { kept, base } }: CampaignContext): string | undefined {
  return kept.find(({ item_id }) => item_id === base)?.ref
}

/**
 * The cycle under way has ended: what it was begun upon lands with it, or the next cycle builds on what it kept. A
 * stopped one has no result, and its item knows what it kept.
 */
export function build(draft: Draft, { item_id, terminal, disposition }: Of<'item_settled'>): void {
  const { work, internal } = draft.context
  const { upon, astray } = work!
  const { landed, preservation_ref } = terminal?.payload ?? { preservation_ref: disposition?.preservation_ref }
  const ref = refIn(preservation_ref)
  if (landed === true) land(draft, upon, ref)
  else if (ref !== undefined) {
    const kept = [...internal.kept, { item_id, ref, ...(upon === undefined ? {} : { upon }) }]
    draft.keep({ kept, ...(astray === true ? {} : { base: item_id }) })
  }
}

/**
 * The same for a cycle that is not charged, of which there may be any number in a row. What it has kept continues what
 * the previous uncharged one had kept, and replaces it: that item owes nothing more.
 */
export function buildUncharged(draft: Draft, message: Of<'item_settled'>): void {
  const { item_id } = message
  build(draft, message)
  const { kept, base } = draft.context.internal
  if (base !== item_id) return
  const upon = kept.find((one) => one.item_id === item_id)!.upon
  draft.keep({ kept: kept.map((one) => (one.item_id === item_id ? { ...one, uncharged: true } : one)) })
  const before = kept.find((one) => one.item_id === upon)
  if (before?.uncharged !== true) return
  const close = { type: 'close', discharges: true, reason: `its work continues in ${item_id}` } as const
  draft.sends.push({ to: { kind: 'work_item', id: before.item_id }, message: close })
  forget(draft, new Set([before.item_id]))
}

/** The work begun upon `upon` is on trunk, and with it everything below. */
function land(draft: Draft, upon: string | undefined, commit: string | undefined): void {
  const landed = downFrom(draft.context.internal.kept, upon)
  for (const { item_id, given_up } of landed) if (given_up !== true) draft.sends.push(superseded(item_id, commit))
  forget(draft, new Set(landed.map(({ item_id }) => item_id)))
}

function superseded(id: string, commit: string | undefined): SendParams {
  const message = { type: 'superseded', ...(commit === undefined ? {} : { commit }) } as const
  return { to: { kind: 'work_item', id }, message }
}

/** Sends `superseded` for work landed under an earlier version, which told nobody while the campaign was stopped. */
export function tellLandedBefore(draft: Draft): void {
  const { untold } = draft.context.internal
  if (untold === undefined) return
  for (const id of untold.items) draft.sends.push(superseded(id, untold.commit))
  draft.keep({ untold: undefined })
}

/** Drops these items. Work that was begun upon them now stands upon what is left below them. */
function forget(draft: Draft, gone: ReadonlySet<string>): void {
  if (gone.size === 0) return
  const { work, internal } = draft.context
  const { kept, base } = internal
  const left = (upon: string | undefined) => downFrom(kept, upon).find(({ item_id }) => !gone.has(item_id))?.item_id
  const settled = <T extends { readonly upon?: string | undefined }>(one: T): T =>
    one.upon !== undefined && gone.has(one.upon) ? { ...one, upon: left(one.upon) } : one
  draft.keep({ kept: kept.filter(({ item_id }) => !gone.has(item_id)).map(settled) })
  if (base !== undefined && gone.has(base)) draft.keep({ base: undefined })
  if (work !== undefined) draft.set({ work: settled(work) })
}

/**
 * Kept work has reached trunk another way, and what it was begun upon with it. If no commit is named, it is up to the
 * owners of the items below to say whether those are on trunk.
 */
export function noteLanding(draft: Draft, { item_id, disposition }: Of<'item_settled'>): void {
  const one = draft.context.internal.kept.find((it) => it.item_id === item_id)
  if (one === undefined) return
  const commit = disposition?.landed_commit
  if (commit !== undefined) land(draft, one.upon, commit)
  forget(draft, new Set([item_id]))
}

/** A person gives up this item's kept work: the next cycle builds on what was kept before it, or on trunk. */
export function giveUp(draft: Draft, message: Of<'item_settled'>): void {
  const { item_id } = message
  const { work, internal } = draft.context
  const { kept, base } = internal
  const one = kept.find((it) => it.item_id === item_id)
  if (one === undefined) return
  draft.keep({ kept: kept.map((it) => (it === one ? { ...it, given_up: true } : it)) })
  // Work kept by an earlier version may have no ref.
  const before = kept.find((it) => it.item_id === one.upon && it.ref !== undefined)?.item_id
  if (isUpon(kept, base, item_id)) draft.keep({ base: before })
  if (isUpon(kept, work?.upon, item_id)) callOff(draft, message, `${item_id}, which was given up`)
  sweep(draft)
}

/** Drops given-up work that nothing stands upon any more. */
function sweep(draft: Draft): void {
  const { work, internal } = draft.context
  const named = new Set([work?.upon])
  const kept = internal.kept.toReversed().filter(({ item_id, given_up, upon }) => {
    const stays = given_up !== true || named.has(item_id)
    if (stays) named.add(upon)
    return stays
  })
  draft.keep({ kept: kept.reverse() })
}

/** A person wants the next cycle to start from trunk: kept work is left to its items. */
export function startFromTrunk(draft: Draft, message: CampaignMessage): void {
  const { work } = draft.context
  draft.keep({ base: undefined })
  if (work?.upon !== undefined) callOff(draft, message, 'kept work that was given up')
  // The cycle under way starts from trunk: it is that next cycle, unless it has already begun.
  else if (work?.role === 'cycle' && work.begun === true) draft.set({ work: { ...work, astray: true } })
}

/** Nothing will be built upon what the cycle keeps. If no runner has begun it, its step is formed anew. */
function callOff(draft: Draft, { by, at }: CampaignMessage, what: string): void {
  const { paused, stopping, ended_at } = draft.context
  const work = draft.context.work!
  draft.set({ work: { ...work, astray: true } })
  const reason = `it was to start from ${what}`
  const message = { type: 'cancel_waiting', reason, ...(by && { by }) } as const
  draft.sends.push({ to: { kind: 'work_item', id: work.item_id }, message })
  if (paused !== undefined || stopping !== undefined || ended_at !== undefined) return
  const words = `cycle ${work.cycle} was to start from ${what}`
  draft.setReason(
    `${words}: its step will be formed again, unless it has begun (intendant queue cancel ${work.item_id})`,
    at,
  )
}

/** Whether the cycle was stopped before a runner began it, because what it was to start from was given up. */
export function isCalledOff({ work }: CampaignContext, message: Of<'item_settled'>): boolean {
  const { item_id, state, started, terminal } = message
  const isAstray = work?.item_id === item_id && work.astray === true
  return isAstray && state === 'cancelled' && !started && terminal === undefined
}

const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled'])

/** Whether a cycle builds, or will build, on what the item has kept: resuming the item would do that work twice. */
export function isBuiltUpon({ value, context }: SnapshotOf<CampaignContext>, item_id: string): boolean {
  const { work, internal } = context
  const { kept, base } = internal
  if (!OVER.has(value) && isUpon(kept, base, item_id)) return true
  const mayGoOn = work?.astray !== true || work.begun === true
  return mayGoOn && isUpon(kept, work?.upon, item_id)
}
