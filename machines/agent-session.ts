/**
 * The agent session (SPEC 3.3, 6.16, 6.17): driven by the events that its engine posts, and by the service if the
 * process that ran it is gone. Invariants: it ends once, and its end is counted once in each sum; only those who
 * reported its beginning, or people of its project, can end it.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import type { AgentSessionBody, AgentSessionContext, AgentSessionMessage, Of } from './agent-session/context.ts'
import { agentSessionTestimony } from './agent-session/testimony.ts'
import type { AgentSession } from './documents/agent-session.ts'
import {
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Refusal,
  type SendParams,
  type SnapshotOf,
  type Term,
} from './machine.ts'
import { amountsOf, type Measured } from './usage/measure.ts'
import { usageNews } from './usage.ts'

/** The error of a session whose end nobody saw (SPEC 6.16). */
const INTERRUPTED = 'daemon restarted'
const NOTHING_MEASURED: Measured = {}

/** Whether the message comes from the same run and project; others may not report on this session. */
function isOwn({ project, run_request_id }: AgentSessionContext, { session }: Of<'begin' | 'end'>): boolean {
  return session.project === project && (session.run_request_id ?? run_request_id) === run_request_id
}

/** Messages that report an end to the usage sums. */
function counted(type: 'add' | 'amend', context: AgentSessionContext, measured: Measured): SendParams[] {
  const { project, work_item_id, campaign } = context
  return [
    usageNews(type, 'project', project, measured),
    ...(work_item_id === undefined ? [] : [usageNews(type, 'item', work_item_id, measured)]),
    ...(campaign === undefined ? [] : [usageNews(type, 'campaign', campaign, measured)]),
  ]
}

const machineSetup = setup({
  types: { context: {} as AgentSessionContext, events: {} as AgentSessionMessage, emitted: {} as Fact },
  guards: {
    own: ({ context, event }) => isOwn(context, event as Of<'end'>),
    ownAndPresumed: ({ context, event }) => context.end?.presumed === true && isOwn(context, event as Of<'end'>),
    ownAndUnseen: ({ context, event }) => context.launch === undefined && isOwn(context, event as Of<'begin'>),
  },
  actions: {
    ...declaredActions,
    identify: assign(({ event }) => {
      const { session, trace_id } = event as Of<'begin' | 'end'>
      return { ...session, ...(trace_id === undefined ? {} : { trace_id }) }
    }),
    begin: assign(({ event }) => {
      const { launch, event: begin_event } = event as Of<'begin'>
      return { launch, begin_event }
    }),
    end: assign(({ event }) => ({ end: (event as Of<'end'>).end, closed_at: event.at })),
    interrupt: assign(({ event }) => ({
      end: {
        status: 'interrupted' as const,
        ended_at: (event as Of<'interrupt'>).ended_at,
        bytes_written: 0,
        error: INTERRUPTED,
        measured: NOTHING_MEASURED,
        presumed: true as const,
      },
      closed_at: event.at,
    })),
    /** These two run after the end that they report. */
    count: enqueueActions(({ context, enqueue }) => {
      for (const params of counted('add', context, context.end!.measured)) enqueue({ type: 'send', params })
    }),
    recount: enqueueActions(({ context, enqueue }) => {
      for (const params of counted('amend', context, context.end!.measured)) enqueue({ type: 'send', params })
    }),
    emitInterrupted: emit(({ context: { session_id, end } }) => ({
      type: 'agent_session_ended',
      payload: { bytes_written: 0, ended_at: end!.ended_at, error: INTERRUPTED, session_id, status: 'interrupted' },
    })),
  },
})

const agentSessionMachine = machineSetup.createMachine({
  id: 'agent_session',
  initial: 'absent',
  context: {} as AgentSessionContext,
  states: {
    absent: {
      on: {
        begin: { target: 'started', actions: ['identify', 'begin'] },
        // Its beginning was never reported, or arrives after its end.
        end: { target: 'ended', actions: ['identify', 'end', 'count'] },
      },
    },
    started: {
      on: {
        end: { guard: 'own', target: 'ended', actions: ['end', 'count'] },
        interrupt: { target: 'ended', actions: ['interrupt', 'count', 'emitInterrupted'] },
      },
    },
    ended: {
      on: {
        begin: { guard: 'ownAndUnseen', actions: 'begin' },
        // A lost connection does not mean that the session died: the engine knows better how it ended.
        end: { guard: 'ownAndPresumed', actions: ['end', 'recount'] },
      },
    },
  },
})

/** A word for a message that repeats one taken before; undefined if it is not a repeat. */
function repeats({ value, context }: SnapshotOf<AgentSessionContext>, message: AgentSessionMessage) {
  if (value === 'absent') return undefined
  if (message.type === 'interrupt') return value === 'ended' ? 'already_ended' : undefined
  if (!isOwn(context, message)) return undefined
  if (message.type === 'begin') return context.launch === undefined ? undefined : 'already_started'
  return value === 'ended' && context.end?.presumed !== true ? 'already_ended' : undefined
}

function refusal({ value, context }: SnapshotOf<AgentSessionContext>, message: AgentSessionMessage) {
  if (value === 'absent' || message.type === 'interrupt') return undefined
  const detail = `the agent session ${context.session_id} was reported elsewhere`
  return { code: 'illegal_move', detail } satisfies Refusal
}

/** SPEC 6.17: the session's project and trace; cause and throttle come from the event that reported its beginning. */
function envelope({ project, trace_id, begin_event, run_request_id }: AgentSessionContext): FactEnvelope {
  const began = begin_event?.trace_id ?? null
  const trace = trace_id ?? began
  return {
    project,
    throttle: begin_event?.throttle ?? 'full',
    trace_id: trace,
    // A span belongs to its trace: if the beginning was stated on another trace, there is no span.
    span_id: trace === began ? (begin_event?.span_id ?? null) : null,
    parent_span_id: null,
    causation_id: begin_event?.id ?? null,
    gather_id: begin_event?.gather_id ?? null,
    ...(run_request_id === undefined ? {} : { run_request_id }),
  }
}

function terms({ value, context }: SnapshotOf<AgentSessionContext>): readonly Term[] {
  const { project, work_item_id, run_request_id, recorded_at: order } = context
  const rows: Term[] = [
    { index: 'all', value: '', order },
    { index: 'project', value: project, order },
    { index: 'state', value, order },
  ]
  if (work_item_id !== undefined) rows.push({ index: 'work_item', value: work_item_id, order })
  if (run_request_id !== undefined) rows.push({ index: 'run_request', value: run_request_id, order })
  return rows
}

function document({ value, context }: SnapshotOf<AgentSessionContext>): AgentSession {
  const { launch = {}, begin_event: _, closed_at: __, end, ...identity } = context
  return { ...identity, state: value as AgentSession['state'], ...launch, ...(end === undefined ? {} : endOf(end)) }
}

function endOf({ measured, presumed: _, ...end }: NonNullable<AgentSessionContext['end']>): Partial<AgentSession> {
  const { tokens, micros, basis } = measured
  return {
    ...end,
    ...(tokens === undefined ? {} : { tokens: { ...tokens } }),
    ...(micros === undefined ? {} : { cost: amountsOf(micros) }),
    ...(basis === undefined ? {} : { cost_basis: basis }),
  }
}

export const agentSessionModule: MachineModule<AgentSessionContext, AgentSessionBody> = {
  kind: 'agent_session',
  version: 1,
  machine: agentSessionMachine,
  migrations: {},
  internal: ['begin', 'end', 'interrupt'],
  repeats,
  refusal,
  envelope,
  terms,
  retirement: { index: 'state', values: ['ended'], at: ({ context }) => context.closed_at },
  deadlineStates: [],
  deadlines: () => [],
  testimony: agentSessionTestimony,
  document,
}
