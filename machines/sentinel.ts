/**
 * The sentinel: a named cron trigger that submits a work item each time it falls due. Invariants: each due time submits
 * at most one item, unless the clock that showed it was wrong by more than a day or somebody resumes the sentinel after
 * that; one that was missed is never made up for.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { changed } from './changed.ts'
import type { LastFiring, Sentinel, SkipCode } from './documents/sentinel.ts'
import { projectEnvelope } from './envelope.ts'
import { instantMs } from './instant.ts'
import {
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Message,
  type OwnFact,
  type Refusal,
  type SendParams,
  type SnapshotOf,
  type Term,
} from './machine.ts'
import { creationRecord, creationRefusal, creationRepeat } from './repeated-create.ts'
import { knowsZone, unknownZone } from './sentinel/calendar.ts'
import type { SentinelBody, SentinelContext } from './sentinel/context.ts'
import { needTerms, recentAfter, skippingAfter } from './sentinel/needs.ts'
import { forgetting, mayComeSooner, nextOf, reckoned } from './sentinel/times.ts'
import { members, type Testimony } from './testimony.ts'
import { type ItemIds, itemIds } from './work-item/owner.ts'
import { submitItem } from './work-item/submitted.ts'

/** How late it may fall due and still submit its item: a restart of the service must not cost a night's work. */
export const LATE_MS_MAX = 600_000

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

function created(message: Of<'create'>): SentinelContext {
  const { name, project, project_id, cron, time_zone, item, by, at, atMs } = message
  const internal = { creation: creationRecord(message) }
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
    next_at: nextOf({ cron, time_zone, internal }, atMs),
    fired: 0,
    internal,
  }
}

/** Why this firing submits nothing; undefined if it submits its item. */
function skipOf({ time_zone }: SentinelContext, message: Of<'fall_due'> | Of<'fire'>): SkipCode | undefined {
  if (message.type === 'fall_due') {
    if (!knowsZone(time_zone)) return 'unknown_time_zone'
    if (message.atMs - instantMs(message.due_at) > LATE_MS_MAX) return 'missed'
  }
  return message.why_not?.code
}

/**
 * The ids of the item that it submits now. They derive from the occasion: a repeat of that makes no second item. One of
 * the same time that comes again, after the clock was wrong, is another, since it has submitted more by then.
 */
function idsOf({ name, created_at, fired }: SentinelContext, message: Of<'fall_due'> | Of<'fire'>): ItemIds {
  const occasion = message.type === 'fall_due' ? [fired, message.due_at] : ['by hand', message.at]
  return itemIds('sentinel', name, created_at, occasion.join(' '))
}

function fired(context: SentinelContext, message: Of<'fall_due'> | Of<'fire'>): Change {
  const skipped = skipOf(context, message)
  const submitted = skipped === undefined ? idsOf(context, message).item_id : undefined
  const item_id = skipped === 'duplicate' ? message.why_not?.item_id : submitted
  const last: LastFiring = {
    ...(message.type === 'fall_due' ? { due_at: message.due_at } : {}),
    at: message.at,
    ...(item_id === undefined ? {} : { item_id }),
    ...(skipped === undefined ? {} : { skipped }),
  }
  const skipping = skippingAfter(context.skipping, message, skipped)
  if (submitted === undefined) return { last, skipping }
  const internal = { ...context.internal, recent: recentAfter(context.internal.recent, submitted) }
  return { last, skipping, fired: context.fired + 1, internal }
}

/** Somebody has looked after it: what has gone wrong so far calls for nobody any more. */
function lookedAfter<C extends Pick<SentinelContext, 'internal'>>(context: C): C & { skipping: undefined } {
  return { ...context, skipping: undefined, internal: { ...context.internal, recent: [] } }
}

/** It waits for the next time by the clock as it is now: one that it has fallen due at and that lies ahead comes again. */
function started(context: SentinelContext, { at, atMs }: SentinelMessage): Change {
  const internal = forgetting(context.internal, atMs)
  return lookedAfter({ updated_at: at, internal, next_at: nextOf({ ...context, internal }, atMs) })
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

function stateFact(type: string, context: SentinelContext, state: Sentinel['state']): OwnFact {
  const { name, cron, time_zone, next_at } = context
  return { type, payload: { sentinel: name, state, cron, time_zone, ...(next_at === undefined ? {} : { next_at }) } }
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
    comesSooner: ({ context, event }) => reckoned(context, event.atMs) !== undefined,
    isZoneKnown: ({ context }) => knowsZone(context.time_zone),
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
      if (skipOf(context, message) === undefined) enqueue({ type: 'send', params: submission(context, message) })
    }),
  },
}).extend({
  actions: {
    create: assign(({ event }) => created(event as Of<'create'>)),
    change: assign(({ context, event }) => {
      const { by = context.by, at } = event
      return { ...lookedAfter(context), ...changeOf(context, event as Of<'update'>), by, updated_at: at }
    }),
    start: assign(({ context, event }) => started(context, event)),
    reckon: assign(({ context, event }) => reckoned(context, event.atMs)!),
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
    /** The same, if it falls due at other times from then on. */
    emitRetimed: emit(({ context, event }) => {
      const change = changeOf(context, event as Of<'update'>)
      const changed = { ...context, ...change }
      return updateFact({ ...changed, ...started(changed, event) }, 'active', Object.keys(change))
    }),
    emitMoved: emit(({ context }, { state, changed }: { state: Sentinel['state']; changed: 'state' | 'next_at' }) =>
      updateFact(context, state, [changed]),
    ),
    emitFiring: emit(({ context }) => firingFact(context)),
  },
})

const changedIn = (state: Sentinel['state']) => ({ type: 'emitChanged' as const, params: { state } })
const moved = (state: Sentinel['state'], changed: 'state' | 'next_at' = 'state') => ({
  type: 'emitMoved' as const,
  params: { state, changed },
})
const add = { target: 'active', actions: ['create', 'emitAdded', 'arm'] } as const
// An item's id derives from what was submitted before it.
const fire = { actions: ['submit', 'note', 'emitFiring'] } as const
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
          { guard: 'changesTime', actions: ['emitRetimed', 'change', 'start', 'arm'] },
          { guard: 'changes', actions: [changedIn('active'), 'change'] },
        ],
        pause: { target: 'paused', actions: ['stop', moved('paused'), 'arm'] },
        reckon: { guard: 'comesSooner', actions: ['reckon', moved('active', 'next_at'), 'arm'] },
        fall_due: { guard: 'isItsTime', actions: ['submit', 'note', 'moveOn', 'emitFiring', 'arm'] },
        fire,
        remove,
      },
    },
    paused: {
      on: {
        update: { guard: 'changes', actions: [changedIn('paused'), 'change'] },
        resume: { guard: 'isZoneKnown', target: 'active', actions: ['start', moved('active'), 'arm'] },
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
  if (message.type === 'reckon')
    return mayComeSooner({ status: 'active', value, context }, message.atMs) ? undefined : 'unchanged'
  if (message.type === 'remove') return value === 'removed' ? 'already_removed' : undefined
  if (value === 'removed') return undefined
  if (message.type === 'pause') return value === 'paused' ? 'already_paused' : undefined
  if (message.type === 'resume') return value === 'active' ? 'already_active' : undefined
  if (message.type !== 'update') return undefined
  return Object.keys(changeOf(context, message)).length === 0 ? 'unchanged' : undefined
}

function refusal({ value, context }: SnapshotOf<SentinelContext>, message: SentinelMessage): Refusal | undefined {
  if (value === 'paused' && message.type === 'resume' && !knowsZone(context.time_zone))
    return { code: 'illegal_move', detail: unknownZone(context.time_zone) }
  if (value === 'absent' || message.type !== 'create') return undefined
  return creationRefusal(context.internal.creation, message, { what: 'sentinel', isIdFromKey: false })
}

function envelope({ project }: SentinelContext): FactEnvelope {
  return projectEnvelope(project)
}

function terms({ value, context }: SnapshotOf<SentinelContext>): readonly Term[] {
  const { project, created_at: order } = context
  return [
    { index: 'all', value: '', order },
    { index: 'project', value: project, order },
    { index: 'state', value, order },
    ...(value === 'active' ? needTerms(context, order) : []),
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
  version: 3,
  machine: sentinelMachine,
  migrations: {
    // It counted neither skipped times nor items: counting begins with the next.
    1: (snapshot) => snapshot,
    // What it knows is the same; an item's id derives from more since then.
    2: (snapshot) => snapshot,
  },
  internal: ['fall_due', 'reckon'],
  repeats,
  refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  timers: ({ context }) => (context.next_at === undefined ? [] : [TIMER]),
  testimony,
  document,
}
