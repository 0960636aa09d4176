/**
 * The engine run: what one attempt of a run request did inside the engine, with its trace summary and evidence.
 * Observations are about the past, so both are taken in every state, even after the end.
 *
 * Most runs report neither, and everything known of them is in their run request (`run-request/view.ts`). So a run
 * becomes an actor of its own only with its first report, or when its request leaves it for another run.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { type EngineRun, OBSERVATIONS_A_RUN_MAX, type TraceSummary } from './documents/engine-run.ts'
import { type EvidenceObservation, intentRecordIdOf, observeMessage } from './documents/observation.ts'
import {
  type By,
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Message,
  type MessageBody,
  type Refusal,
  type SendParams,
  type SnapshotOf,
  type Term,
  type Throttle,
} from './machine.ts'
import { members, type Testimony } from './testimony.ts'

/** What a run request knows of its engine run. */
export interface EngineRunIdentity {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  readonly run_request_id: string
  /** The brief that the run follows. */
  readonly formation_brief_id?: string
  readonly attempt: number
  readonly runner_id: string
  readonly throttle: Throttle
  readonly trace_id: string
  readonly span_id: string | null
  readonly causation_id: string | null
  readonly gather_id: string | null
  readonly opened_at: string
  /** The state in which the run request left it, and when. */
  readonly outcome?: string
  readonly closed_at?: string
}

interface EngineRunContext extends Omit<EngineRunIdentity, 'span_id' | 'causation_id' | 'gather_id'> {
  readonly trace_summary?: TraceSummary
  readonly trace_summary_by?: By | undefined
  readonly evidence: readonly EvidenceObservation[]
  readonly summarized_at?: string
  readonly internal: {
    readonly span_id: string | null
    readonly causation_id: string | null
    readonly gather_id: string | null
    /** Hash of the newest trace summary's body. */
    readonly summary_digest?: string
  }
}

/** The message may be the first one about the run, so it says what the run is. */
interface OfRun extends MessageBody {
  readonly run: EngineRunIdentity
}

interface SummarizeTrace extends OfRun {
  readonly type: 'trace_summary'
  readonly summary: TraceSummary
  /** Hash of the body: tells a repeat of the same post from a different one. */
  readonly digest: string
}

/** Observations as posted, each with the id that the edge gave it; known ids are not recorded again. */
interface ObserveEvidence extends OfRun {
  readonly type: 'evidence'
  readonly observations: readonly Omit<EvidenceObservation, 'recorded_at'>[]
}

/** From the run request: it has settled, or goes on with another run. */
interface EndEngineRun extends OfRun {
  readonly type: 'end'
  readonly outcome: string
}

export type EngineRunBody = SummarizeTrace | ObserveEvidence | EndEngineRun
type EngineRunMessage = Message<EngineRunBody>
type Of<T extends EngineRunBody['type']> = Message<Extract<EngineRunBody, { type: T }>>

function begun({ run: { span_id, causation_id, gather_id, ...run } }: EngineRunMessage): EngineRunContext {
  return { ...run, evidence: [], internal: { span_id, causation_id, gather_id } }
}

/** The observations that are not recorded yet. */
function fresh(
  { evidence = [] }: Partial<EngineRunContext>,
  { observations }: Of<'evidence'>,
): Of<'evidence'>['observations'] {
  const known = new Set(evidence.map(({ id }) => id))
  // Adds each id to `known` as it goes, so that repeats within one post are dropped too.
  return observations.filter(({ id }) => known.size < known.add(id).size)
}

function hasRoom(evidence: EngineRunContext['evidence'], message: Of<'evidence'>): boolean {
  return evidence.length + fresh({ evidence }, message).length <= OBSERVATIONS_A_RUN_MAX
}

function observed(engineRunId: string, observation: Omit<EvidenceObservation, 'recorded_at'>): Fact {
  const { id: observation_id, ...seen } = observation
  return { type: 'evidence_observed', payload: { engine_run_id: engineRunId, observation_id, ...seen } }
}

/** What the intent records and the brief behind the run are told about new observations. */
function newsOf(
  { id, project, run_request_id, formation_brief_id }: EngineRunContext,
  observations: Of<'evidence'>['observations'],
  { at, by }: Of<'evidence'>,
): SendParams[] {
  const run = { project, engine_run_id: id, run_request_id }
  const news: SendParams[] = []
  const intent_record_ids: string[] = []
  for (const seen of observations) {
    const recordId = intentRecordIdOf(seen)
    if (recordId === undefined) continue
    intent_record_ids.push(recordId)
    const message = observeMessage({ ...seen, recorded_at: at }, run, by)
    news.push({ to: { kind: 'intent_record', id: recordId }, message })
  }
  if (intent_record_ids.length === 0 || formation_brief_id === undefined) return news
  const message = { type: 'run_observed', run_request_id, intent_record_ids } as const
  return [...news, { to: { kind: 'formation_brief', id: formation_brief_id }, message }]
}

const machineSetup = setup({
  types: { context: {} as EngineRunContext, events: {} as EngineRunMessage, emitted: {} as Fact },
  guards: {
    isOver: ({ event }) => event.run.outcome !== undefined,
    isOverAndHasRoom: ({ event }) => event.run.outcome !== undefined && hasRoom([], event as Of<'evidence'>),
    hasRoom: ({ context, event }) => hasRoom(context.evidence ?? [], event as Of<'evidence'>),
  },
  actions: {
    ...declaredActions,
    /** Runs before `observe`, which marks them as known. Tells the intent records and the brief of new observations. */
    emitObserved: enqueueActions(({ context, event, enqueue }) => {
      const message = event as Of<'evidence'>
      const added = fresh(context, message)
      for (const seen of added) enqueue.emit(observed(context.id, seen))
      for (const params of newsOf(context, added, message)) enqueue({ type: 'send', params })
    }),
  },
}).extend({
  actions: {
    begin: assign(({ event }) => begun(event)),
    summarize: assign(({ context, event }) => {
      const { summary, digest, by, at } = event as Of<'trace_summary'>
      const internal = { ...context.internal, summary_digest: digest }
      return { trace_summary: summary, trace_summary_by: by, summarized_at: at, internal }
    }),
    observe: assign(({ context, event }) => {
      const added = fresh(context, event as Of<'evidence'>).map((seen) => ({ ...seen, recorded_at: event.at }))
      return { evidence: [...context.evidence, ...added] }
    }),
    end: assign(({ event }) => ({ outcome: (event as Of<'end'>).outcome, closed_at: event.at })),

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
/** Tells the run request, once, that there is an actor whose end it must report. */
const tellRequest = {
  type: 'send' as const,
  params: ({ context: { id, run_request_id } }: { context: EngineRunContext }): SendParams => ({
    to: { kind: 'run_request', id: run_request_id },
    message: { type: 'run_reported', engine_run_id: id },
  }),
}

const engineRunMachine = machineSetup.createMachine({
  id: 'engine_run',
  initial: 'absent',
  context: {} as EngineRunContext,
  states: {
    absent: {
      on: {
        trace_summary: [
          { guard: 'isOver', target: 'closed', actions: ['begin', ...summarize('closed')] },
          { target: 'summarized', actions: ['begin', ...summarize('summarized'), tellRequest] },
        ],
        evidence: [
          { guard: 'isOverAndHasRoom', target: 'closed', actions: ['begin', 'emitObserved', 'observe'] },
          { guard: 'hasRoom', target: 'open', actions: ['begin', 'emitObserved', 'observe', tellRequest] },
        ],
        end: { target: 'closed', actions: ['begin', 'end'] },
      },
    },
    open: {
      on: {
        trace_summary: { target: 'summarized', actions: summarize('summarized') },
        evidence: observe,
        end: { target: 'closed', actions: 'end' },
      },
    },
    summarized: {
      on: {
        trace_summary: { actions: summarize('summarized') },
        evidence: observe,
        end: { target: 'closed', actions: 'end' },
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

/** A word for the same post again, or an end that was reported before; undefined otherwise. */
function repeats({ value, context }: SnapshotOf<EngineRunContext>, message: EngineRunMessage): string | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'trace_summary':
      return message.digest === context.internal.summary_digest ? 'already_recorded' : undefined
    case 'evidence':
      return fresh(context, message).length === 0 ? 'already_recorded' : undefined
    case 'end':
      return value === 'closed' ? 'already_closed' : undefined
  }
}

function refusal({ value }: SnapshotOf<EngineRunContext>, message: EngineRunMessage): Refusal | undefined {
  if (value === 'absent' || message.type !== 'evidence') return undefined
  return { code: 'illegal_move', detail: `an engine run may hold at most ${OBSERVATIONS_A_RUN_MAX} observations` }
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

/** The run request states the run's beginning and end. */
const testimony: Testimony<EngineRunContext> = {
  idMember: 'engine_run_id',
  types: new Set(['trace_summary_recorded', 'evidence_observed']),
  aspects: ({ event_type }) => (event_type === 'evidence_observed' ? ['terms'] : ['state']),
  claims: (aspect, { project, throttle, trace_id, payload }) => {
    if (aspect === 'terms') return { last_observation: payload.observation_id, last_result: payload.result }
    const said = { project, throttle, trace_id, ...members(payload, 'run_request_id', 'runner_id'), summarized: true }
    return payload.state === 'closed' ? { ...said, closed: true } : said
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
  madeAt: () => undefined,
}

export const engineRunModule: MachineModule<EngineRunContext, EngineRunBody> = {
  kind: 'engine_run',
  version: 2,
  machine: engineRunMachine,
  // 2: takes other messages; the stored snapshot is unchanged.
  migrations: { 1: (snapshot) => snapshot },
  internal: ['end'],
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
