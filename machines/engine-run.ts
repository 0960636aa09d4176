/**
 * The engine run: what one attempt of a run request did inside the engine, with its trace summary and the
 * evidence it left. Observations speak of the past, so both are taken in every state, also after the end.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { type EngineRun, OBSERVATIONS_A_RUN_MAX, type TraceSummary } from './documents/engine-run.ts'
import type { EvidenceObservation } from './documents/observation.ts'
import {
  type By,
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Message,
  type MessageBody,
  type Refusal,
  type SnapshotOf,
  type Term,
  type Throttle,
} from './machine.ts'
import { members, type Testimony } from './testimony.ts'

interface EngineRunContext {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  readonly run_request_id: string
  readonly attempt: number
  readonly runner_id: string
  readonly throttle: Throttle
  readonly trace_id: string
  /** The state in which the run request left it. */
  readonly outcome?: string
  readonly trace_summary?: TraceSummary
  readonly trace_summary_by?: By | undefined
  readonly evidence: readonly EvidenceObservation[]
  readonly opened_at: string
  readonly summarized_at?: string
  readonly closed_at?: string
  readonly internal: {
    readonly span_id: string | null
    readonly causation_id: string | null
    readonly gather_id: string | null
    /** Hash of the newest trace summary's body. */
    readonly summary_digest?: string
  }
}

/** From the run request. With `outcome`, the run is over already. */
interface OpenEngineRun extends MessageBody {
  readonly type: 'open'
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly run_request_id: string
  readonly attempt: number
  readonly runner_id: string
  readonly throttle: Throttle
  readonly trace_id: string
  readonly span_id?: string | null
  readonly causation_id?: string | null
  readonly gather_id?: string | null
  readonly outcome?: string
}

interface SummarizeTrace extends MessageBody {
  readonly type: 'trace_summary'
  readonly summary: TraceSummary
  /** Hash of the body: tells the same post from another one. */
  readonly digest: string
}

/** Observations as posted, each with the id that the edge gave it; one whose id is known counts as recorded. */
interface ObserveEvidence extends MessageBody {
  readonly type: 'evidence'
  readonly observations: readonly Omit<EvidenceObservation, 'recorded_at'>[]
}

/** From the run request: it has ended, or goes on elsewhere. */
interface CloseEngineRun extends MessageBody {
  readonly type: 'close'
  readonly run_request_id: string
  readonly outcome: string
}

type EngineRunBody = OpenEngineRun | SummarizeTrace | ObserveEvidence | CloseEngineRun
type EngineRunMessage = Message<EngineRunBody>
type Of<T extends EngineRunBody['type']> = Message<Extract<EngineRunBody, { type: T }>>

function opened(message: Of<'open'>): EngineRunContext {
  const { id, project, project_id, run_request_id, attempt, runner_id, throttle, trace_id, at, outcome } = message
  const { span_id = null, causation_id = null, gather_id = null } = message
  return {
    id,
    project,
    project_id,
    run_request_id,
    attempt,
    runner_id,
    throttle,
    trace_id,
    evidence: [],
    opened_at: at,
    ...(outcome === undefined ? {} : { outcome, closed_at: at }),
    internal: { span_id, causation_id, gather_id },
  }
}

/** The observations that are not recorded yet. */
function fresh({ evidence }: EngineRunContext, { observations }: Of<'evidence'>): Of<'evidence'>['observations'] {
  const known = new Set(evidence.map(({ id }) => id))
  return observations.filter(({ id }) => !known.has(id))
}

function observed(engineRunId: string, observation: Omit<EvidenceObservation, 'recorded_at'>): Fact {
  const { id: observation_id, ...seen } = observation
  return { type: 'evidence_observed', payload: { engine_run_id: engineRunId, observation_id, ...seen } }
}

const machineSetup = setup({
  types: { context: {} as EngineRunContext, events: {} as EngineRunMessage, emitted: {} as Fact },
  guards: {
    isOver: ({ event }) => (event as Of<'open'>).outcome !== undefined,
    ofItsRequest: ({ context, event }) => (event as Of<'close'>).run_request_id === context.run_request_id,
    hasRoom: ({ context, event }) =>
      context.evidence.length + fresh(context, event as Of<'evidence'>).length <= OBSERVATIONS_A_RUN_MAX,
  },
  actions: {
    ...declaredActions,
    /** Stands before `observe`, which makes them known. */
    emitObserved: enqueueActions(({ context, event, enqueue }) => {
      for (const seen of fresh(context, event as Of<'evidence'>)) enqueue.emit(observed(context.id, seen))
    }),
  },
}).extend({
  actions: {
    open: assign(({ event }) => opened(event as Of<'open'>)),
    summarize: assign(({ context, event }) => {
      const { summary, digest, by, at } = event as Of<'trace_summary'>
      const internal = { ...context.internal, summary_digest: digest }
      return { trace_summary: summary, trace_summary_by: by, summarized_at: at, internal }
    }),
    observe: assign(({ context, event }) => {
      const added = fresh(context, event as Of<'evidence'>).map((seen) => ({ ...seen, recorded_at: event.at }))
      return { evidence: [...context.evidence, ...added] }
    }),
    close: assign(({ event }) => ({ outcome: (event as Of<'close'>).outcome, closed_at: event.at })),

    emitOpened: emit(({ context: { id, run_request_id, runner_id } }, { state }: { state: string }) => ({
      type: 'engine_run_opened',
      payload: { engine_run_id: id, run_request_id, runner_id, state },
    })),
    emitSummarized: emit(({ context }, { state }: { state: string }) => ({
      type: 'trace_summary_recorded',
      payload: {
        engine_run_id: context.id,
        run_request_id: context.run_request_id,
        runner_id: context.runner_id,
        state,
      },
    })),
  },
})

const observe = { guard: 'hasRoom', actions: ['emitObserved', 'observe'] } as const
const summarize = (state: string) => ['summarize', { type: 'emitSummarized', params: { state } }] as const
const emitOpened = (state: string) => ({ type: 'emitOpened' as const, params: { state } })

const engineRunMachine = machineSetup.createMachine({
  id: 'engine_run',
  initial: 'absent',
  context: {} as EngineRunContext,
  states: {
    absent: {
      on: {
        open: [
          { guard: 'isOver', target: 'closed', actions: ['open', emitOpened('closed')] },
          { target: 'open', actions: ['open', emitOpened('open')] },
        ],
      },
    },
    open: {
      on: {
        trace_summary: { target: 'summarized', actions: summarize('summarized') },
        evidence: observe,
        close: { guard: 'ofItsRequest', target: 'closed', actions: 'close' },
      },
    },
    summarized: {
      on: {
        trace_summary: { actions: summarize('summarized') },
        evidence: observe,
        close: { guard: 'ofItsRequest', target: 'closed', actions: 'close' },
      },
    },
    closed: {
      on: {
        trace_summary: { actions: summarize('closed') },
        evidence: observe,
      },
    },
  },
})

/** The same post again, or an open that was delivered before. */
function repeats({ value, context }: SnapshotOf<EngineRunContext>, message: EngineRunMessage): string | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'open':
      return message.run_request_id === context.run_request_id ? 'already_open' : undefined
    case 'trace_summary':
      return message.digest === context.internal.summary_digest ? 'already_recorded' : undefined
    case 'evidence':
      return fresh(context, message).length === 0 ? 'already_recorded' : undefined
    case 'close':
      return value === 'closed' && message.run_request_id === context.run_request_id ? 'already_closed' : undefined
  }
}

function refusal({ value, context }: SnapshotOf<EngineRunContext>, message: EngineRunMessage): Refusal | undefined {
  if (value === 'absent') return undefined
  if (message.type === 'evidence') {
    return { code: 'illegal_move', detail: `an engine run holds at most ${OBSERVATIONS_A_RUN_MAX} observations` }
  }
  if (message.type !== 'open') return undefined
  return { code: 'engine_run_taken', detail: `the engine run belongs to the run request ${context.run_request_id}` }
}

function envelope({ project, throttle, trace_id, run_request_id, internal }: EngineRunContext): FactEnvelope {
  const { span_id, causation_id, gather_id } = internal
  return { project, throttle, trace_id, span_id, parent_span_id: null, causation_id, gather_id, run_request_id }
}

function terms({ context }: SnapshotOf<EngineRunContext>): readonly Term[] {
  return [{ index: 'all', value: '', order: context.opened_at }]
}

function document({ value, context }: SnapshotOf<EngineRunContext>): EngineRun {
  const { internal: _, trace_summary_by, trace_summary, outcome, evidence, ...shown } = context
  return {
    ...shown,
    state: value as EngineRun['state'],
    ...(outcome === undefined ? {} : { outcome }),
    ...(trace_summary === undefined ? {} : { trace_summary }),
    ...(trace_summary_by === undefined ? {} : { trace_summary_by: { ...trace_summary_by } }),
    evidence: [...evidence],
  }
}

/** That it was closed is stated only where it was opened and closed in one; else its run request's events say so. */
const testimony: Testimony<EngineRunContext> = {
  idMember: 'engine_run_id',
  types: new Set(['engine_run_opened', 'trace_summary_recorded', 'evidence_observed']),
  aspects: ({ event_type }) => {
    if (event_type === 'engine_run_opened') return ['creation', 'state']
    return event_type === 'evidence_observed' ? ['terms'] : ['state']
  },
  claims: (aspect, event) => {
    const { event_type, project, throttle, trace_id, payload } = event
    if (aspect === 'creation')
      return { project, throttle, trace_id, ...members(payload, 'run_request_id', 'runner_id') }
    if (aspect === 'terms') return { last_observation: payload.observation_id, last_result: payload.result }
    const summary = event_type === 'trace_summary_recorded' ? { summarized: true } : {}
    return { ...summary, ...(payload.state === 'closed' ? { closed: true } : {}) }
  },
  held: ({ value, context }) => {
    const last = context.evidence.at(-1)
    return {
      ...members(context, 'project', 'throttle', 'trace_id', 'run_request_id', 'runner_id'),
      last_observation: last?.id,
      last_result: last?.result,
      summarized: context.trace_summary !== undefined,
      closed: value === 'closed',
    }
  },
  madeAt: ({ opened_at }) => opened_at,
}

export const engineRunModule: MachineModule<EngineRunContext, EngineRunBody> = {
  kind: 'engine_run',
  version: 1,
  machine: engineRunMachine,
  migrations: {},
  internal: ['open', 'close'],
  repeats,
  refusal,
  envelope,
  terms,
  retirement: { index: 'all', values: [''], at: ({ context }) => context.closed_at },
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document,
}
