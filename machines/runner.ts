/**
 * The runner: who may take which work, with which credential. Invariant: everything that an earlier process of the
 * runner held is told that this process is gone before the new one can be offered anything.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { changed } from './changed.ts'
import type { Runner } from './documents/runner.ts'
import { SYSTEM_ENVELOPE } from './envelope.ts'
import {
  declaredActions,
  type Fact,
  type MachineModule,
  type Refusal,
  type SendParams,
  type SnapshotOf,
  type Term,
} from './machine.ts'
import { creationRecord, creationRefusal, creationRepeat } from './repeated-create.ts'
import {
  type Holding,
  type Of,
  type RunnerBody,
  type RunnerContext,
  type RunnerMessage,
  SETTABLE,
  type Terms,
} from './runner/context.ts'
import { rotated } from './runner/credentials.ts'
import { LIMIT_TIMER, limitedBy, limitOver, limitTimer, outagesOver } from './runner/limit.ts'
import { runnerTestimony } from './runner/testimony.ts'

/** The members that the message really changes. */
function changeOf(context: RunnerContext, message: Of<'update'>): Terms {
  const given = SETTABLE.filter((member) => message[member] !== undefined)
  const next = Object.fromEntries(given.map((member) => [member, message[member]])) as Terms
  const names = changed<Terms>(context, next)
  return Object.fromEntries(Object.entries(next).filter(([member]) => names.includes(member)))
}

/** Whether the message ends a limit of the runner. */
function lifts({ limited }: RunnerContext, message: RunnerMessage): boolean {
  return message.type === 'update' && message.limited === false && limited !== undefined
}

/** Whether the message ends a limit of the runner, if one applies. */
function ends(context: RunnerContext, message: RunnerMessage): boolean {
  return message.type === 'update' ? lifts(context, message) : context.limited !== undefined
}

function endReason(message: RunnerMessage): string {
  if (message.type === 'provider_answered') return `run ${message.run_request_id} of it has completed`
  return message.type === 'update' ? 'an operator ended it' : 'its time is over'
}

/** Why the runner no longer holds what it held. */
const GONE_BECAUSE = {
  session: 'its runner started a new session',
  end_session: 'its runner ended',
  remove: 'its runner was removed',
} as const

/** Tells a run request that the process which held it is gone. */
function sessionStarted(runnerId: string, { id, attempt }: Holding, reason: string): SendParams {
  const message = { type: 'runner_session_started', runner_id: runnerId, attempt, reason } as const
  return { to: { kind: 'run_request', id }, message }
}

function described(context: RunnerContext): object {
  const { id, name, allowed_projects, labels, capacity, trusted, run_rights } = context
  const terms = { allowed_projects, labels, capacity, trusted, run_rights }
  return { runner_id: id, ...(name === undefined ? {} : { name }), ...terms }
}

const machineSetup = setup({
  types: { context: {} as RunnerContext, events: {} as RunnerMessage, emitted: {} as Fact },
  guards: {
    drains: ({ event }) => (event as Of<'create' | 'update'>).draining === true,
    resumes: ({ event }) => (event as Of<'update'>).draining === false,
    changes: ({ context, event }) =>
      Object.keys(changeOf(context, event as Of<'update'>)).length > 0 || lifts(context, event as Of<'update'>),
    thatLimit: ({ context, event }) => context.limited?.until === (event as Of<'limit_over'>).until,
    hadOutages: ({ context }) => context.internal.outages !== undefined,
    newInstance: ({ context, event }) => (event as Of<'session'>).instance !== context.session?.instance,
    ownInstance: ({ context, event }) => (event as Of<'end_session'>).instance === context.session?.instance,
    offline: ({ context }) => !context.internal.online,
    online: ({ context }) => context.internal.online,
  },
  actions: {
    ...declaredActions,
    armLimit: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: 'schedule', params: limitTimer(context.limited!) })
    }),
    /** Runs before the limit ends. */
    clearLimit: enqueueActions(({ context, event, enqueue }) => {
      if (ends(context, event)) enqueue({ type: 'cancelTimer', params: { timer: LIMIT_TIMER } })
    }),
    sendSessionStarted: enqueueActions(({ context, event, enqueue }) => {
      const { in_flight, type } = event as Of<keyof typeof GONE_BECAUSE>
      for (const held of in_flight)
        enqueue({ type: 'send', params: sessionStarted(context.id, held, GONE_BECAUSE[type]) })
    }),
  },
}).extend({
  actions: {
    create: assign(({ event }) => {
      const message = event as Of<'create'>
      const { id, name, allowed_projects = [], labels = [], capacity = 1, trusted = false } = message
      const { run_rights = [], credential_hash } = message
      const internal = { credentials: [{ hash: credential_hash }], online: false, creation: creationRecord(message) }
      const given = { allowed_projects, labels, capacity, trusted, run_rights, created_at: message.at, internal }
      return { id, ...(name === undefined ? {} : { name }), ...given }
    }),
    change: assign(({ context, event }) => ({ ...changeOf(context, event as Of<'update'>), updated_at: event.at })),
    limit: assign(({ context, event }) => limitedBy(context, event as Of<'limit'>)),
    endLimit: assign(({ context }) => limitOver(context)),
    noteProvider: assign(({ context }) => outagesOver(context)),
    lift: assign(({ context, event }) => (lifts(context, event as Of<'update'>) ? outagesOver(context) : {})),
    emitLimitEnded: enqueueActions(({ context, event, enqueue }, { state }: { state: string }) => {
      if (!ends(context, event)) return
      enqueue.emit({
        type: 'runner_limit_ended',
        payload: { runner_id: context.id, state, reason: endReason(event) },
      })
    }),
    emitLimited: emit(({ context }, { state }: { state: string }) => ({
      type: 'runner_limited',
      payload: { runner_id: context.id, state, limited: { ...context.limited! } },
    })),
    rotate: assign(({ context, event }) => ({
      updated_at: event.at,
      internal: {
        ...context.internal,
        credentials: rotated(context.internal.credentials, event as Of<'rotate_credential'>),
      },
    })),
    startSession: assign(({ event }) => {
      const { instance, version, at } = event as Of<'session'>
      return { session: { instance, version, started_at: at } }
    }),
    endSession: assign(({ context, event }) => ({
      session: undefined,
      internal: { ...context.internal, online: false, seen_at: event.at },
    })),
    remove: assign(({ context, event }) => ({
      removed_at: event.at,
      session: undefined,
      limited: undefined,
      internal: { ...context.internal, credentials: [], online: false },
    })),
    comeOnline: assign(({ context, event }) => ({
      internal: { ...context.internal, online: true, seen_at: event.at },
    })),
    goOffline: assign(({ context, event }) => {
      const { seen_at } = event as Of<'went_offline'>
      return { internal: { ...context.internal, online: false, ...(seen_at === undefined ? {} : { seen_at }) } }
    }),

    emitRegistered: emit(({ context }, { state }: { state: string }) => ({
      type: 'runner_registered',
      payload: { ...described(context), state },
    })),
    /** Runs before the change that it reports; `state` is the state that follows. */
    emitChanged: emit(({ context, event }, { state, drain }: { state: string; drain: boolean }) => {
      const change = changeOf(context, event as Of<'update'>)
      const lifted = lifts(context, event as Of<'update'>)
      const names = [...Object.keys(change), ...(drain ? ['draining'] : []), ...(lifted ? ['limited'] : [])]
      return {
        type: 'runner_updated',
        payload: { ...described({ ...context, ...change }), state, draining: state === 'draining', changed: names },
      }
    }),
    emitRotated: emit(({ context }, { state }: { state: string }) => ({
      type: 'runner_updated',
      payload: { runner_id: context.id, state, changed: ['credentials'] },
    })),
    emitSession: emit(({ context, event }, { state }: { state: string }) => ({
      type: 'runner_updated',
      payload: { runner_id: context.id, state, version: (event as Of<'session'>).version, changed: ['session'] },
    })),
    emitRemoved: emit(({ context }) => ({
      type: 'runner_removed',
      payload: { runner_id: context.id, state: 'removed' },
    })),
    emitOnline: emit(({ context, event }, { state }: { state: string }) => ({
      type: 'runner_online',
      payload: { runner_id: context.id, state, presence: 'online', last_seen_at: event.at },
    })),
    emitOffline: emit(({ context, event }, { state }: { state: string }) => ({
      type: 'runner_offline',
      payload: {
        runner_id: context.id,
        state,
        presence: 'offline',
        reason: event.type === 'end_session' ? 'it reported that it is ending' : 'it has not called for some time',
      },
    })),
  },
})

/** What a runner takes in both of its live states; only the stated state differs. */
const living = <const State extends 'registered' | 'draining'>(state: State) =>
  ({
    remove: { target: 'removed', actions: ['sendSessionStarted', 'clearLimit', 'remove', 'emitRemoved'] },
    limit: { actions: ['limit', 'armLimit', { type: 'emitLimited', params: { state } }] },
    limit_over: { guard: 'thatLimit', actions: [{ type: 'emitLimitEnded', params: { state } }, 'endLimit'] },
    provider_answered: {
      guard: 'hadOutages',
      actions: ['clearLimit', { type: 'emitLimitEnded', params: { state } }, 'noteProvider'],
    },
    rotate_credential: { actions: ['rotate', { type: 'emitRotated', params: { state } }] },
    session: {
      guard: 'newInstance',
      actions: ['sendSessionStarted', 'startSession', { type: 'emitSession', params: { state } }],
    },
    end_session: {
      guard: 'ownInstance',
      actions: ['sendSessionStarted', 'endSession', { type: 'emitOffline', params: { state } }],
    },
    came_online: { guard: 'offline', actions: ['comeOnline', { type: 'emitOnline', params: { state } }] },
    went_offline: { guard: 'online', actions: ['goOffline', { type: 'emitOffline', params: { state } }] },
  }) as const

const registeredAs = (state: string) => ({ type: 'emitRegistered' as const, params: { state } })
/** An update; `state` is the state that follows. */
const updates = (state: string, drain: boolean) =>
  [
    { type: 'emitChanged', params: { state, drain } },
    'clearLimit',
    { type: 'emitLimitEnded', params: { state } },
    'change',
    'lift',
  ] as const

const runnerMachine = machineSetup.createMachine({
  id: 'runner',
  initial: 'absent',
  context: {} as RunnerContext,
  states: {
    absent: {
      on: {
        create: [
          { guard: 'drains', target: 'draining', actions: ['create', registeredAs('draining')] },
          { target: 'registered', actions: ['create', registeredAs('registered')] },
        ],
      },
    },
    registered: {
      on: {
        ...living('registered'),
        update: [
          { guard: 'drains', target: 'draining', actions: updates('draining', true) },
          { guard: 'changes', actions: updates('registered', false) },
        ],
      },
    },
    draining: {
      on: {
        ...living('draining'),
        update: [
          { guard: 'resumes', target: 'registered', actions: updates('registered', true) },
          { guard: 'changes', actions: updates('draining', false) },
        ],
      },
    },
    removed: {},
  },
})

/** What others say about a provider: no news for a removed runner. */
const LIMIT_MESSAGES: ReadonlySet<string> = new Set(['limit', 'limit_over', 'provider_answered'])

/** A word for a message that repeats one taken before and would change nothing. */
function repeats({ value, context }: SnapshotOf<RunnerContext>, message: RunnerMessage): string | undefined {
  if (value === 'absent') return undefined
  if (value === 'removed') {
    if (message.type === 'remove') return 'already_removed'
    return LIMIT_MESSAGES.has(message.type) ? 'removed' : undefined
  }
  switch (message.type) {
    case 'create':
      return creationRepeat(context.internal.creation, message)
    case 'session':
      return message.instance === context.session?.instance ? 'same_session' : undefined
    case 'end_session':
      // A new process has begun, or this one has reported its end before.
      return message.instance === context.session?.instance ? undefined : 'not_its_session'
    case 'limit_over':
      return context.limited?.until === message.until ? undefined : 'not_its_limit'
    case 'provider_answered':
      return context.internal.outages === undefined ? 'already_answered' : undefined
    case 'came_online':
      return context.internal.online ? 'already_online' : undefined
    case 'went_offline':
      return context.internal.online ? undefined : 'already_offline'
    case 'update': {
      const drains = message.draining ?? value === 'draining'
      const isDrain = drains !== (value === 'draining')
      const isSame = !isDrain && !lifts(context, message) && Object.keys(changeOf(context, message)).length === 0
      return isSame ? 'unchanged' : undefined
    }
    default:
      return undefined
  }
}

function refusal({ value, context }: SnapshotOf<RunnerContext>, message: RunnerMessage): Refusal | undefined {
  if (value === 'removed') return { code: 'runner_removed', detail: `the runner ${context.id} was removed` }
  if (value === 'absent' || message.type !== 'create') return undefined
  return creationRefusal(context.internal.creation, message, { what: 'runner', isIdFromKey: false })
}

/** A removed runner is no longer listed, but its document can still be read. */
function terms({ value, context }: SnapshotOf<RunnerContext>): readonly Term[] {
  return value === 'removed' ? [] : [{ index: 'all', value: '', order: context.created_at }]
}

function document({ value, context }: SnapshotOf<RunnerContext>): Runner {
  const { id, name, allowed_projects, labels, capacity, trusted, run_rights, session, limited } = context
  const { created_at, updated_at, removed_at } = context
  return {
    id,
    ...(name === undefined ? {} : { name }),
    state: value as Runner['state'],
    allowed_projects: [...allowed_projects],
    labels: [...labels],
    capacity,
    trusted,
    run_rights: [...run_rights],
    draining: value === 'draining',
    ...(limited === undefined ? {} : { limited: { ...limited } }),
    ...(session === undefined ? {} : { session: { ...session } }),
    created_at,
    ...(updated_at === undefined ? {} : { updated_at }),
    ...(removed_at === undefined ? {} : { removed_at }),
  }
}

export const runnerModule: MachineModule<RunnerContext, RunnerBody> = {
  kind: 'runner',
  version: 6,
  machine: runnerMachine,
  // 2: a runner may be draining from the start; 3: a process may report its end; 4: its provider may be unavailable;
  // 5: keeps a limit whose time is over; up to here stored snapshots are unchanged. 6: its runs may have tokens.
  migrations: {
    1: (snapshot) => snapshot,
    2: (snapshot) => snapshot,
    3: (snapshot) => snapshot,
    4: (snapshot) => snapshot,
    5: (snapshot) => ({ ...snapshot, context: { ...snapshot.context, run_rights: [] } }),
  },
  internal: ['limit', 'limit_over', 'provider_answered', 'came_online', 'went_offline'],
  repeats,
  refusal,
  envelope: () => SYSTEM_ENVELOPE,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  timers: ({ context }) => (context.limited === undefined ? [] : [LIMIT_TIMER]),
  testimony: runnerTestimony,
  document,
}
