/**
 * Campaigns, initiatives and the work items that they open, folded in order from the steps that are on disk: what each
 * stated and sent. A status that no legal move leads to is a violation.
 */
import type { Step } from '../../../storage/journal.ts'
import { Violation } from '../violation.ts'
import { ITEM_ENDS } from './items.ts'

export interface Fact {
  readonly type: string
  readonly traceId: string | null
  readonly payload: Record<string, any>
}

/** Something under way for a campaign or an initiative: an item that its step has opened. */
export interface OwnedItem {
  readonly id: string
  readonly owner: OwnerModel
  readonly role: 'advance' | 'cycle' | 'assessment'
  readonly traceId: string
  /** For an assessment: its trigger. */
  readonly trigger: string | undefined
  /** For a cycle: the number of the move that opened the advance which formed it. */
  readonly formedAt: number
  readonly openedAt: number
  /** As the ledger states it; undefined: not yet. */
  state: string | undefined
  started: boolean
  /** How it first ended. */
  ended: { readonly state: string; readonly landed: boolean; readonly reason: string } | undefined
  /** Nothing more is expected of it: it has ended, or its owner has said what came of it. */
  isOver: boolean
}

export interface OwnerModel {
  readonly kind: 'campaign' | 'initiative'
  readonly name: string
  status: string
  sinceMs: number
  /** In the order in which they were opened. */
  readonly items: OwnedItem[]
}

export interface Told {
  readonly kind: string
  readonly id: string
  readonly message: Record<string, any>
}

/** One step of an owner, or of an item that an owner has opened. */
export interface OwnerMove {
  readonly owner: OwnerModel
  /** Undefined: the step is the owner's own. */
  readonly item: OwnedItem | undefined
  readonly facts: readonly Fact[]
  readonly opened: readonly OwnedItem[]
  readonly told: readonly Told[]
  /** Number of the move in its world, from 1. */
  readonly n: number
}

const RUNNING = ['staged', 'active'] as const
const OPEN = [...RUNNING, 'paused', 'escalated'] as const

/** From which statuses an event may be stated, and the one that follows. */
const MOVES: Readonly<Record<string, { readonly from: readonly string[]; readonly to: string }>> = {
  campaign_owner_paused: { from: OPEN, to: 'paused' },
  campaign_paused: { from: [...RUNNING, 'paused'], to: 'paused' },
  campaign_resumed: { from: ['paused', 'escalated'], to: 'active' },
  campaign_decided: { from: ['escalated'], to: 'active' },
  campaign_escalated: { from: [...RUNNING, 'paused'], to: 'escalated' },
  campaign_completed: { from: OPEN, to: 'completed' },
  campaign_cancelled: { from: OPEN, to: 'cancelled' },
  initiative_completed: { from: ['active'], to: 'completed' },
  initiative_cancelled: { from: ['active'], to: 'cancelled' },
}

export const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled'])

export class Owners {
  readonly byName = new Map<string, OwnerModel>()
  readonly items = new Map<string, OwnedItem>()
  private moves = 0

  /** Folds the step in. Undefined: it is not of an owner or of an owned item. Throws Violation. */
  take(step: Step, nowMs: number): OwnerMove | undefined {
    const { kind, id } = step
    if (kind === 'work_item') return this.takeItem(step)
    if (kind !== 'campaign' && kind !== 'initiative') return undefined
    const name = `${kind}:${id}`
    const owner = this.byName.get(name) ?? { kind, name: id, status: 'absent', sinceMs: nowMs, items: [] }
    this.byName.set(name, owner)
    const facts = step.events.map(factOf)
    for (const fact of facts) this.takeFact(owner, fact, nowMs)
    const told = step.outbox.map(({ toKind, toId, message }) => ({ kind: toKind, id: toId, message }))
    const opened = told.filter(({ kind: to, message }) => to === 'work_item' && (message as any).type === 'create')
    const n = ++this.moves
    return { owner, item: undefined, facts, opened: opened.map((one) => this.open(owner, one, facts, n)), told, n }
  }

  private takeItem(step: Step): OwnerMove | undefined {
    const item = this.items.get(step.id)
    if (item === undefined) return undefined
    const facts = step.events.map(factOf)
    for (const { type, payload } of facts) {
      item.state = payload.state
      if (type === 'work_item_started') item.started = true
      if (!ITEM_ENDS.has(payload.state)) continue
      const landed = payload.disposition?.landed_commit !== undefined
      item.ended ??= { state: payload.state, landed, reason: payload.reason }
      item.isOver = true
    }
    return { owner: item.owner, item, facts, opened: [], told: [], n: ++this.moves }
  }

  private takeFact(owner: OwnerModel, { type, traceId, payload }: Fact, nowMs: number): void {
    if (type === 'campaign_added' || type === 'initiative_added') this.become(owner, payload.status, nowMs)
    const move = MOVES[type]
    if (move !== undefined) {
      // Cancelled gracefully and then now, it also states that its cycle was aborted; so does one whose cycle began as
      // it was called off.
      const isAbort = payload.terminated_now === true || owner.items.some(isAtWork)
      const isToldAgain = type.startsWith('campaign_') && OVER.has(move.to) && owner.status === move.to && isAbort
      if (!move.from.includes(owner.status) && !isToldAgain) throw wrong(owner, `states ${type}`)
      const asksStill = type === 'campaign_resumed' && payload.status === 'escalated'
      if (asksStill && owner.status !== 'paused') throw wrong(owner, 'is resumed, and asks still')
      this.become(owner, asksStill ? 'escalated' : move.to, nowMs)
    }
    if (type !== 'campaign_advance_completed' && type !== 'initiative_steered') return
    if (type === 'campaign_advance_completed') this.takeDecision(owner, payload, nowMs)
    for (const item of owner.items) {
      if (item.traceId === traceId && item.role !== 'cycle') item.isOver = true
    }
  }

  private takeDecision(owner: OwnerModel, payload: Fact['payload'], nowMs: number): void {
    const { decision, campaign_status: stoppedBy, success } = payload
    const isRunning = (RUNNING as readonly string[]).includes(owner.status)
    const mayStandDown = stoppedBy === owner.status && success === true
    const mayEscalate = isRunning || owner.status === 'paused'
    const may = decision === 'stood_down' ? mayStandDown : decision === 'escalate' ? mayEscalate : isRunning
    if (!may) throw wrong(owner, `decides ${decision} ${stoppedBy ?? ''}`)
    if (decision === 'advance') this.become(owner, 'active', nowMs)
  }

  private become(owner: OwnerModel, status: string, nowMs: number): void {
    if (status !== owner.status) owner.sinceMs = nowMs
    owner.status = status
  }

  private open(owner: OwnerModel, { id, message }: Told, facts: readonly Fact[], n: number): OwnedItem {
    const { source, trace_id: traceId, payload } = message
    if (this.items.has(id)) throw wrong(owner, `opens ${id} again`)
    const isOver = facts.some(
      ({ type, traceId: of }) =>
        of === traceId && (type === 'campaign_advance_completed' || type === 'initiative_steered'),
    )
    const formed = source.role === 'cycle' ? owner.items.findLast(({ role }) => role === 'advance') : undefined
    const item: OwnedItem = {
      id,
      owner,
      role: source.role,
      traceId,
      trigger: payload?.trigger_id,
      formedAt: formed?.openedAt ?? n,
      openedAt: n,
      state: undefined,
      started: false,
      ended: undefined,
      isOver,
    }
    this.items.set(id, item)
    owner.items.push(item)
    return item
  }
}

function isAtWork({ role, started, ended }: OwnedItem): boolean {
  return role === 'cycle' && started && ended === undefined
}

function factOf({ traceId, text }: Step['events'][number]): Fact {
  const { event_type: type, payload } = JSON.parse(text)
  return { type, traceId, payload }
}

function wrong({ kind, name, status }: OwnerModel, why: string): Violation {
  return new Violation('legal moves', `${kind} ${name}, which is ${status}, ${why}`)
}
