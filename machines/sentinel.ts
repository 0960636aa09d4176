/**
 * The sentinel: a named cron trigger that submits a work item each time it falls due. Invariants: each due time submits
 * at most one item, whose id derives from it; one that was missed is never made up for.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { changed } from './changed.ts'
import type { LastFiring, Sentinel, SentinelCreate, SkipCode, Skipping } from './documents/sentinel.ts'
import { projectEnvelope } from './envelope.ts'
import { instantMs } from './instant.ts'
import {
  type By,
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Message,
  type MessageBody,
  type OwnFact,
  type Refusal,
  type SendParams,
  type SnapshotOf,
  type Term,
} from './machine.ts'
import {
  type CreateBody,
  type CreationRecord,
  creationRecord,
  creationRefusal,
  creationRepeat,
} from './repeated-create.ts'
import { nextDue } from './sentinel/calendar.ts'
import { needTerms, recentAfter, skippingAfter } from './sentinel/needs.ts'
import { members, type Testimony } from './testimony.ts'
import { type ItemIds, itemIds } from './work-item/owner.ts'
import { submitItem } from './work-item/submitted.ts'

/** How late it may fall due and still submit its item: a restart of the service must not cost a night's work. */
export const LATE_MS_MAX = 600_000

export interface SentinelContext {
  readonly name: string
  readonly project: string
  readonly project_id: string
  readonly cron: string
  readonly time_zone: string
  readonly item: SentinelCreate['item']
  /** Who added it or has changed it last: its items are submitted in that name. */
  readonly by: By
  readonly created_at: string
  readonly updated_at?: string | undefined
  /** Undefined unless it is active. */
  readonly next_at?: string | undefined
  readonly last?: LastFiring | undefined
  readonly skipping?: Skipping | undefined
  readonly fired: number
  readonly internal: {
    readonly creation: CreationRecord
    /** The latest time at which it fell due: it does so once, even if the clock is set back. */
    readonly due_at?: string
    /** The last items that it has submitted since somebody has looked after it, oldest first. */
    readonly recent?: readonly string[]
  }
}

/** Why nothing is to be submitted now, although the service runs. */
export interface WhyNot {
  readonly code: Exclude<SkipCode, 'missed'>
  /** The unsettled item that asks for the same; absent while that is on its way. */
  readonly item_id?: string
}

interface CreateSentinel extends CreateBody {
  readonly name: string
  readonly project: string
  readonly project_id: string
  readonly cron: string
  readonly time_zone: string
  readonly item: SentinelCreate['item']
}

/** Omitted members stay as they are. */
interface UpdateSentinel extends MessageBody {
  readonly type: 'update'
  readonly cron?: string
  readonly time_zone?: string
  readonly item?: SentinelCreate['item']
}

/** From its timer. The runtime adds `why_not`. */
interface FallDue extends MessageBody {
  readonly type: 'fall_due'
  readonly due_at: string
  readonly why_not?: WhyNot
}

/** From a person: submit the item now, whatever the time. */
interface Fire extends MessageBody {
  readonly type: 'fire'
  readonly why_not?: WhyNot
}

interface Pause extends MessageBody {
  readonly type: 'pause'
}

interface Resume extends MessageBody {
  readonly type: 'resume'
}

interface Remove extends MessageBody {
  readonly type: 'remove'
}

export type SentinelBody = CreateSentinel | UpdateSentinel | FallDue | Fire | Pause | Resume | Remove
type SentinelMessage = Message<SentinelBody>
type Of<T extends SentinelBody['type']> = Message<Extract<SentinelBody, { type: T }>>
type Change = Partial<SentinelContext>

const TIMER = 'due'
/** The members that its owner sets, and that events of a change name. */
const SET = ['cron', 'time_zone', 'item'] as const

function changeOf(context: SentinelContext, message: Of<'update'>): Change {
  const given = Object.fromEntries(
    SET.filter((name) => message[name] !== undefined).map((name) => [name, message[name]]),
  )
  const names = changed<Change>(context, given)
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)))
}

/** Behind the latest time at which it fell due, even if the clock was set back since then. */
function nextOf({ cron, time_zone, internal }: SentinelContext, nowMs: number): string | undefined {
  const afterMs = internal.due_at === undefined ? nowMs : Math.max(nowMs, instantMs(internal.due_at))
  return nextDue(cron, time_zone, afterMs)
}

function created(message: Of<'create'>): SentinelContext {
  const { name, project, project_id, cron, time_zone, item, by, at, atMs } = message
  return {
    name,
    project,
    project_id,
    cron,
    time_zone,
    item,
    by: by!,
    created_at: at,
    // Of one that was removed, nothing stays.
    updated_at: undefined,
    last: undefined,
    skipping: undefined,
    next_at: nextDue(cron, time_zone, atMs),
    fired: 0,
    internal: { creation: creationRecord(message) },
  }
}

/** Why this firing submits nothing; undefined if it submits its item. */
function skipOf(message: Of<'fall_due'> | Of<'fire'>): SkipCode | undefined {
  const isMissed = message.type === 'fall_due' && message.atMs - instantMs(message.due_at) > LATE_MS_MAX
  return isMissed ? 'missed' : message.why_not?.code
}

/** The ids of the item that it submits now. They derive from the occasion: a repeat of that makes no second item. */
function idsOf({ name, created_at }: SentinelContext, message: Of<'fall_due'> | Of<'fire'>): ItemIds {
  return itemIds('sentinel', name, created_at, message.type === 'fall_due' ? message.due_at : `by hand ${message.at}`)
}

function fired(context: SentinelContext, message: Of<'fall_due'> | Of<'fire'>): Change {
  const skipped = skipOf(message)
  const item_id = skipped === undefined ? idsOf(context, message).item_id : message.why_not?.item_id
  const last: LastFiring = {
    ...(message.type === 'fall_due' ? { due_at: message.due_at } : {}),
    at: message.at,
    ...(item_id === undefined || skipped === 'missed' ? {} : { item_id }),
    ...(skipped === undefined ? {} : { skipped }),
  }
  const skipping = skippingAfter(context.skipping, message, skipped)
  if (skipped !== undefined) return { last, skipping }
  const internal = { ...context.internal, recent: recentAfter(context.internal.recent, item_id!) }
  return { last, skipping, fired: context.fired + 1, internal }
}

/** Somebody has looked after it: what has gone wrong so far calls for nobody any more. */
function lookedAfter({ internal }: SentinelContext): Change {
  return { skipping: undefined, internal: { ...internal, recent: [] } }
}

function movedOn(context: SentinelContext, { due_at, atMs }: Of<'fall_due'>): Change {
  const internal = { ...context.internal, due_at }
  return { internal, next_at: nextOf({ ...context, internal }, atMs) }
}

function submission(context: SentinelContext, message: Of<'fall_due'> | Of<'fire'>): SendParams<'work_item'> {
  const { name, project, project_id, item, by } = context
  return submitItem({
    ids: idsOf(context, message),
    project,
    project_id,
    ...item,
    source: { kind: 'sentinel', ref: name },
    submitted_by: message.type === 'fire' ? (message.by ?? by) : by,
  })
}

function stateFact(type: string, { name, cron, time_zone }: SentinelContext, state: Sentinel['state']): OwnFact {
  return { type, payload: { sentinel: name, state, cron, time_zone } }
}

function updateFact(context: SentinelContext, state: Sentinel['state'], names: readonly string[]): OwnFact {
  const { type, payload } = stateFact('sentinel_updated', context, state)
  return { type, payload: { changed: names, ...payload } }
}

function firingFact({ name, last, next_at }: SentinelContext): OwnFact {
  const { at: _, ...about } = last!
  return {
    type: last!.skipped === undefined ? 'sentinel_fired' : 'sentinel_skipped',
    payload: { sentinel: name, ...about, ...(next_at === undefined ? {} : { next_at }) },
  }
}

const machineSetup = setup({
  types: { context: {} as SentinelContext, events: {} as SentinelMessage, emitted: {} as Fact },
  guards: {
    changes: ({ context, event }) => Object.keys(changeOf(context, event as Of<'update'>)).length > 0,
    /** Otherwise a time that has just come is not passed over. */
    changesTime: ({ context, event }) => {
      const { cron, time_zone } = changeOf(context, event as Of<'update'>)
      return cron !== undefined || time_zone !== undefined
    },
    isItsTime: ({ context, event }) => context.next_at === (event as Of<'fall_due'>).due_at,
  },
  actions: {
    ...declaredActions,
    arm: enqueueActions(({ context: { next_at }, enqueue }) => {
      if (next_at === undefined) enqueue({ type: 'cancelTimer', params: { timer: TIMER } })
      else {
        const message = { type: 'fall_due', due_at: next_at }
        enqueue({ type: 'schedule', params: { timer: TIMER, dueMs: instantMs(next_at), message } })
      }
    }),
    submit: enqueueActions(({ context, event, enqueue }) => {
      const message = event as Of<'fire'>
      if (skipOf(message) === undefined) enqueue({ type: 'send', params: submission(context, message) })
    }),
  },
}).extend({
  actions: {
    create: assign(({ event }) => created(event as Of<'create'>)),
    change: assign(({ context, event }) => {
      const { by = context.by, at } = event
      return { ...changeOf(context, event as Of<'update'>), ...lookedAfter(context), by, updated_at: at }
    }),
    start: assign(({ context, event }) => ({
      ...lookedAfter(context),
      updated_at: event.at,
      next_at: nextOf(context, event.atMs),
    })),
    stop: assign(({ event }) => ({ updated_at: event.at, next_at: undefined })),
    note: assign(({ context, event }) => fired(context, event as Of<'fire'>)),
    moveOn: assign(({ context, event }) => movedOn(context, event as Of<'fall_due'>)),
    emitAdded: emit(({ context }) => stateFact('sentinel_added', context, 'active')),
    emitRemoved: emit(({ context }) => stateFact('sentinel_removed', context, 'removed')),
    /** Runs before the change that it reports. */
    emitChanged: emit(({ context, event }, { state }: { state: Sentinel['state'] }) => {
      const change = changeOf(context, event as Of<'update'>)
      return updateFact({ ...context, ...change }, state, Object.keys(change))
    }),
    emitMoved: emit(({ context }, { state }: { state: Sentinel['state'] }) => updateFact(context, state, ['state'])),
    emitFiring: emit(({ context }) => firingFact(context)),
  },
})

const changedIn = (state: Sentinel['state']) => ({ type: 'emitChanged' as const, params: { state } })
const moved = (state: Sentinel['state']) => ({ type: 'emitMoved' as const, params: { state } })
const add = { target: 'active', actions: ['create', 'emitAdded', 'arm'] } as const
const fire = { actions: ['note', 'emitFiring', 'submit'] } as const
const remove = { target: 'removed', actions: ['stop', 'emitRemoved', 'arm'] } as const

const sentinelMachine = machineSetup.createMachine({
  id: 'sentinel',
  initial: 'absent',
  context: {} as SentinelContext,
  states: {
    absent: { on: { create: add } },
    active: {
      on: {
        update: [
          { guard: 'changesTime', actions: [changedIn('active'), 'change', 'start', 'arm'] },
          { guard: 'changes', actions: [changedIn('active'), 'change'] },
        ],
        pause: { target: 'paused', actions: ['stop', moved('paused'), 'arm'] },
        fall_due: { guard: 'isItsTime', actions: ['note', 'moveOn', 'emitFiring', 'submit', 'arm'] },
        fire,
        remove,
      },
    },
    paused: {
      on: {
        update: { guard: 'changes', actions: [changedIn('paused'), 'change'] },
        resume: { target: 'active', actions: ['start', moved('active'), 'arm'] },
        fire,
        remove,
      },
    },
    removed: { on: { create: add } },
  },
})

/** A word for a message that repeats one taken before and would change nothing. */
function repeats({ value, context }: SnapshotOf<SentinelContext>, message: SentinelMessage): string | undefined {
  if (value === 'absent') return undefined
  if (message.type === 'create') return creationRepeat(context.internal.creation, message)
  if (message.type === 'remove') return value === 'removed' ? 'already_removed' : undefined
  if (value === 'removed') return undefined
  if (message.type === 'pause') return value === 'paused' ? 'already_paused' : undefined
  if (message.type === 'resume') return value === 'active' ? 'already_active' : undefined
  if (message.type !== 'update') return undefined
  return Object.keys(changeOf(context, message)).length === 0 ? 'unchanged' : undefined
}

function refusal({ value, context }: SnapshotOf<SentinelContext>, message: SentinelMessage): Refusal | undefined {
  if (value === 'absent' || message.type !== 'create') return undefined
  return creationRefusal(context.internal.creation, message, { what: 'sentinel', isIdFromKey: false })
}

function envelope({ project }: SentinelContext): FactEnvelope {
  return projectEnvelope(project)
}

function terms({ value, context }: SnapshotOf<SentinelContext>): readonly Term[] {
  const { project, created_at: order, skipping, internal } = context
  return [
    { index: 'all', value: '', order },
    { index: 'project', value: project, order },
    { index: 'state', value, order },
    ...(value === 'active' ? needTerms(skipping, internal.recent, order) : []),
  ]
}

function document({ value, context }: SnapshotOf<SentinelContext>): Sentinel {
  const { internal: _, project_id: _p, next_at, last, skipping, updated_at, ...shown } = context
  return {
    ...shown,
    state: value as Sentinel['state'],
    item: { ...context.item },
    by: { ...context.by },
    ...(next_at === undefined ? {} : { next_at }),
    ...(last === undefined ? {} : { last }),
    ...(skipping === undefined ? {} : { skipping }),
    ...(updated_at === undefined ? {} : { updated_at }),
  }
}

const testimony: Testimony<SentinelContext> = {
  idMember: 'sentinel',
  types: new Set(['sentinel_added', 'sentinel_updated', 'sentinel_removed', 'sentinel_fired', 'sentinel_skipped']),
  aspects: ({ event_type }) =>
    event_type === 'sentinel_added'
      ? ['creation', 'state']
      : event_type === 'sentinel_fired' || event_type === 'sentinel_skipped'
        ? []
        : ['state'],
  claims: (aspect, { project, payload }) =>
    aspect === 'creation' ? { project } : members(payload, 'state', 'cron', 'time_zone'),
  held: ({ value, context }) => ({ state: value, ...members(context, 'project', 'cron', 'time_zone') }),
  madeAt: ({ created_at }) => created_at,
}

export const sentinelModule: MachineModule<SentinelContext, SentinelBody> = {
  kind: 'sentinel',
  version: 2,
  machine: sentinelMachine,
  // Version 1 counted neither skipped times nor items: counting begins with the next.
  migrations: { 1: (snapshot) => snapshot },
  internal: ['fall_due'],
  repeats,
  refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document,
}
