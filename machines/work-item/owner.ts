/**
 * Items that a campaign or an initiative opens, and what it hears of them. The owner's own step opens the item and
 * settles what only the owner can decide; the item's step tells the owner what its run reported and how it settled.
 * Both go as stored messages, so a crash in between loses nothing.
 */
import { hash } from 'node:crypto'
import type { Failure } from '../documents/run-request.ts'
import type { RunResult } from '../documents/run-result.ts'
import type { Disposition, SettledState, SourceRole, WorkItemKind } from '../documents/work-item.ts'
import { deriveId } from '../ids.ts'
import { type ActorRef, type By, type MessageBody, type SendParams, toEither } from '../machine.ts'
import type { CreateWorkItem, Of, WorkItemContext, WorkItemMessage } from './context.ts'
import { isDecidedBySource, isOnTrunk } from './results.ts'

const OWNER_KINDS = ['campaign', 'initiative'] as const
type OwnerKind = (typeof OWNER_KINDS)[number]

/** Who opened an item, and the item's role there. `ref` is the owner's name, which is its actor's id. */
interface Owner {
  readonly kind: OwnerKind
  readonly ref: string
  readonly role: SourceRole
}

/** What an owner specifies of an item that it opens. */
export interface OwnedOrder {
  readonly owner: Owner
  /** Unique among an owner's items, and among those of any earlier owner of that name: ids and trace derive from it. */
  readonly seed: string
  readonly project: string
  readonly project_id: string
  readonly objective: string
  readonly submitted_by: By
  readonly cycle?: number
  /** For a read-only role: the payload of its entry event. */
  readonly payload?: Readonly<Record<string, unknown>>
  readonly context?: Readonly<Record<string, unknown>>
  readonly base_ref?: string
  readonly labels?: readonly string[]
  readonly runner_id?: string
  readonly timeout_seconds?: number
  readonly told_of?: readonly string[]
  readonly causation_id?: string
  /** Why the item waits, if the owner says so: it is then queued at once. */
  readonly reason?: string
}

/** Ids of an item that is about to be opened: who opens it names it in the events of the same step. */
export interface ItemIds {
  readonly item_id: string
  readonly trace_id: string
  readonly span_id: string
}

/** The origin of what the service does to an item for an initiative. */
export function initiativeOrigin(name: string): string {
  return `initiative ${name}`
}

const TRACE_DIGITS = 32
const SPAN_DIGITS = 16

export function ownedIds({ kind, ref, role }: Owner, seed: string): ItemIds {
  return itemIds(kind, ref, role, seed)
}

/** The ids of the item that these parts name. */
export function itemIds(...parts: readonly string[]): ItemIds {
  const digits = hash('sha256', ['trace', ...parts].join('\0'), 'hex')
  return {
    item_id: deriveId('wi', ...parts),
    trace_id: digits.slice(0, TRACE_DIGITS),
    span_id: digits.slice(TRACE_DIGITS, TRACE_DIGITS + SPAN_DIGITS),
  }
}

/** The message that puts the item into the ledger. Without a reason, the scheduler finds the one for which it waits. */
export function openItem(order: OwnedOrder, kind: WorkItemKind = 'campaign_cycle'): SendParams<'work_item'> {
  const { owner, seed, cycle, causation_id = null, submitted_by, ...asked } = order
  const { item_id, trace_id, span_id } = ownedIds(owner, seed)
  const message: CreateWorkItem = {
    type: 'create',
    by: submitted_by,
    ...asked,
    id: item_id,
    kind,
    lane: 'campaign',
    origin: submitted_by.origin ?? submitted_by.name,
    source: { kind: owner.kind, ref: owner.ref, role: owner.role, ...(cycle === undefined ? {} : { cycle }) },
    submitted_by,
    trace_id,
    span_id,
    causation_id,
    // A second message with the same seed creates the same item.
    idempotency_key: item_id,
    fingerprint: item_id,
  }
  return { to: { kind: 'work_item', id: item_id }, message }
}

/** How an item that its owner decides settles; its run is taken back if it is still under way. */
export function settleItem(item_id: string, state: 'landed' | 'cancelled' | 'failed', reason: string): SendParams {
  return { to: { kind: 'work_item', id: item_id }, message: { type: 'settle', state, reason } }
}

/** To the campaign: a runner has begun its cycle, which is charged from then on whatever becomes of it. */
export interface ItemStarted extends MessageBody {
  readonly type: 'item_started'
  readonly item_id: string
}

/** To the owner: the run of an item that the owner decides has ended. The item waits for its `settle`. */
export interface ItemReported extends MessageBody {
  readonly type: 'item_reported'
  readonly item_id: string
  readonly role: SourceRole
  readonly run_request_id: string
  readonly outcome: 'completed' | 'failed' | 'cancelled'
  readonly result?: RunResult
  readonly failure?: Failure
  /** The failures of earlier attempts. */
  readonly failures?: readonly Failure[]
  /** The engine could not reach its agent's provider during the run; in the engine's words. */
  readonly outage?: string
}

/** To the owner: the item has settled otherwise than by the owner's own `settle`. */
export interface ItemSettled extends MessageBody {
  readonly type: 'item_settled'
  readonly item_id: string
  readonly role?: SourceRole
  readonly state: SettledState
  readonly reason: string
  /** Whether a runner had begun it. */
  readonly started: boolean
  readonly disposition?: Disposition
  /** The terminal event that settled it. */
  readonly terminal?: { readonly event_id: string; readonly payload: Readonly<Record<string, unknown>> }
  readonly failure?: Failure
  /** Its work is on trunk: by its own run, or with an item that continued it or was built upon it. */
  readonly on_trunk?: true
  /** When its provider may be used again, as its Run Result says: seconds, or a time. */
  readonly retry_after?: unknown
  /** Its work was preserved, and a person has closed or cancelled it: nothing may be built upon that work. */
  readonly given_up?: true
}

/** Whether its work is on trunk. An item may also settle as landed with nothing to land. */
export function hasLanded({
  state,
  terminal,
  on_trunk,
}: Pick<ItemSettled, 'state' | 'terminal' | 'on_trunk'>): boolean {
  return state === 'landed' && (on_trunk === true || terminal?.payload.landed === true)
}

/** The actor that owns the item; undefined if only its submitter waits for it. */
function ownerOf({ source }: WorkItemContext['asked']): ActorRef<OwnerKind> | undefined {
  const isOwned = (OWNER_KINDS as readonly string[]).includes(source.kind)
  return isOwned ? { kind: source.kind as OwnerKind, id: source.ref } : undefined
}

/** Whether the owner decides what came of the run. */
export function isForOwner({ asked }: WorkItemContext): boolean {
  return isDecidedBySource(asked)
}

/** The campaign whose cycle the item is; undefined if it is not a cycle. */
export function cycleOf({ source }: WorkItemContext['asked']): string | undefined {
  return source.kind === 'campaign' && source.role === 'cycle' ? source.ref : undefined
}

export function tellStarted({ id, asked }: WorkItemContext): SendParams | undefined {
  const campaign = cycleOf(asked)
  if (campaign === undefined) return undefined
  return { to: { kind: 'campaign', id: campaign }, message: { type: 'item_started', item_id: id } }
}

export function tellReported({ id, asked, run }: WorkItemContext, message: Of<'run_ended'>): SendParams {
  const { outcome, result, failure, run_request_id } = message
  const news: ItemReported = {
    type: 'item_reported',
    item_id: id,
    role: asked.source.role!,
    run_request_id,
    outcome,
    ...(result === undefined ? {} : { result }),
    ...(failure === undefined ? {} : { failure }),
    ...(run?.failures === undefined ? {} : { failures: run.failures }),
    ...(run?.outage === undefined ? {} : { outage: run.outage }),
  }
  return toEither(ownerOf(asked)!, news)
}

/** The event by which the message settles the item: its own, or one that was held until the end of the run. */
function endingEvent({ run }: WorkItemContext, message: WorkItemMessage): Of<'run_event'>['event'] | undefined {
  if (message.type === 'run_event') return message.event
  return message.type === 'run_ended' || message.type === 'run_lost' ? run?.result : undefined
}

/** Whether a person gives up the preserved work of an item that had ended. Stopping a run gives up nothing. */
function givesUp({ operator_actions, disposition }: WorkItemContext, message: WorkItemMessage): boolean {
  if (message.type !== 'cancel' && (message.type !== 'close' || message.discharges === true)) return false
  const before = operator_actions.at(-1)?.previous_state
  if (before === 'preserved') return true
  return (before === 'failed' || before === 'needs_decision') && disposition?.preservation_ref !== undefined
}

/** Tells the owner how the item settled, unless the owner's own `settle` did it. */
export function tellOwner(context: WorkItemContext, message: WorkItemMessage, state: SettledState) {
  const to = ownerOf(context.asked)
  if (to === undefined || message.type === 'settle') return undefined
  const { id, asked, reason, started_at, disposition } = context
  const { role } = asked.source
  const event = endingEvent(context, message)
  const { failure, result } = message as Partial<Of<'run_ended'>>
  const news: ItemSettled = {
    type: 'item_settled',
    ...(message.by === undefined ? {} : { by: message.by }),
    item_id: id,
    ...(role === undefined ? {} : { role }),
    state,
    reason,
    started: started_at !== undefined,
    ...(disposition === undefined ? {} : { disposition }),
    ...(event === undefined ? {} : { terminal: { event_id: event.id, payload: event.payload } }),
    ...(failure === undefined ? {} : { failure }),
    ...(result?.retry_after === undefined ? {} : { retry_after: result.retry_after }),
    ...(isOnTrunk(message) ? { on_trunk: true } : {}),
    ...(givesUp(context, message) ? { given_up: true } : {}),
  }
  return toEither(to, news)
}
