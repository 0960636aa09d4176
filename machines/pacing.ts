/**
 * Pacing (SPEC 6.10): which lanes start nothing, how many runs with a label may be under way at the same time, and the
 * weights of projects. One actor for the whole service, so that two operators meet in one mailbox; a change is durable
 * before anybody hears of it.
 */
import { assign, emit, setup } from 'xstate'
import { LABEL_LIMITS_MAX, type Pacing, WEIGHTS_MAX } from './documents/pacing.ts'
import { SYSTEM_ENVELOPE } from './envelope.ts'
import {
  type ActorRef,
  type By,
  declaredActions,
  type Fact,
  type MachineModule,
  type Message,
  type MessageBody,
  type Refusal,
  type SnapshotOf,
} from './machine.ts'
import { LANES, type Lane } from './run-request/lanes.ts'
import type { Testimony } from './testimony.ts'

export const PACING: ActorRef = { kind: 'pacing', id: 'pacing' }

/** When something was decided, by whom, and from where. */
interface Decided {
  readonly at: string
  readonly origin: string
  readonly by?: By
}

interface LanePause extends Decided {
  readonly lane: Lane
}

/** At most `max_running` runs that require the label are under way at the same time; 0: none starts. */
interface LabelLimit extends Decided {
  readonly label: string
  readonly max_running: number
}

/** The project gets that many turns while one of weight 1 gets one. */
interface ProjectWeight extends Decided {
  /** Its key. */
  readonly project: string
  /** Not 1, which every other project has. */
  readonly weight: number
}

export interface PacingContext {
  /** In lane order. */
  readonly paused: readonly LanePause[]
  /** By label, at most LABEL_LIMITS_MAX. */
  readonly label_limits: readonly LabelLimit[]
  /** By project, at most WEIGHTS_MAX. */
  readonly weights: readonly ProjectWeight[]
  readonly changed_at?: string
}

interface ChangeLanes extends MessageBody {
  readonly type: 'pause' | 'resume'
  /** The lanes that the request names. */
  readonly lanes: readonly Lane[]
}

interface LimitLabel extends MessageBody {
  readonly type: 'limit'
  readonly label: string
  readonly max_running: number
}

interface UnlimitLabel extends MessageBody {
  readonly type: 'unlimit'
  readonly label: string
}

interface WeighProject extends MessageBody {
  readonly type: 'weigh'
  readonly project: string
  /** 1 takes an earlier weight back. */
  readonly weight: number
}

export type PacingBody = ChangeLanes | LimitLabel | UnlimitLabel | WeighProject
type PacingMessage = Message<PacingBody>

function originOf(by: By | undefined): string {
  return by?.origin ?? 'unknown'
}

function decided({ by, at }: PacingMessage): Decided {
  return { at, origin: originOf(by), ...(by === undefined ? {} : { by }) }
}

function inOrder(lanes: readonly Lane[]): Lane[] {
  return LANES.filter((lane) => lanes.includes(lane))
}

/** A lane that is already paused keeps its earlier pause. */
function pause({ paused }: PacingContext, message: Message<ChangeLanes>): LanePause[] {
  return inOrder([...paused.map(({ lane }) => lane), ...message.lanes]).map(
    (lane) => paused.find((one) => one.lane === lane) ?? { lane, ...decided(message) },
  )
}

function resume({ paused }: PacingContext, { lanes }: Message<ChangeLanes>): LanePause[] {
  return paused.filter(({ lane }) => !lanes.includes(lane))
}

function othersThan(label: string, { label_limits }: PacingContext): LabelLimit[] {
  return label_limits.filter((one) => one.label !== label)
}

/** The same limit again keeps its earlier decision. */
function limit(context: PacingContext, message: Message<LimitLabel>): LabelLimit[] {
  const { label, max_running } = message
  const same = context.label_limits.find((one) => one.label === label && one.max_running === max_running)
  const limits = [...othersThan(label, context), same ?? { label, max_running, ...decided(message) }]
  return limits.sort((a, b) => (a.label < b.label ? -1 : 1))
}

function besides(project: string, { weights }: PacingContext): ProjectWeight[] {
  return weights.filter((one) => one.project !== project)
}

/** The same weight again keeps its earlier decision. */
function weigh(context: PacingContext, message: Message<WeighProject>): ProjectWeight[] {
  const { project, weight } = message
  const others = besides(project, context)
  if (weight === 1) return others
  const same = context.weights.find((one) => one.project === project && one.weight === weight)
  const weights = [...others, same ?? { project, weight, ...decided(message) }]
  return weights.sort((a, b) => (a.project < b.project ? -1 : 1))
}

function changed(context: PacingContext, message: PacingMessage): Partial<PacingContext> {
  switch (message.type) {
    case 'pause':
      return { paused: pause(context, message) }
    case 'resume':
      return { paused: resume(context, message) }
    case 'limit':
      return { label_limits: limit(context, message) }
    case 'unlimit':
      return { label_limits: othersThan(message.label, context) }
    case 'weigh':
      return { weights: weigh(context, message) }
  }
}

function stated({ paused }: PacingContext, message: PacingMessage): Fact {
  const operator_origin = originOf(message.by)
  switch (message.type) {
    case 'limit': {
      const { label, max_running } = message
      return { type: 'pacing_label_limited', payload: { label, max_running, operator_origin } }
    }
    case 'unlimit':
      return { type: 'pacing_label_unlimited', payload: { label: message.label, operator_origin } }
    case 'weigh': {
      const { project, weight } = message
      return { type: 'pacing_project_weighed', payload: { project, weight, operator_origin } }
    }
    default: {
      const type = message.type === 'pause' ? 'pacing_paused' : 'pacing_resumed'
      const lanes = inOrder(message.lanes)
      return { type, payload: { lanes, operator_origin, paused: paused.map(({ lane }) => lane) } }
    }
  }
}

const machineSetup = setup({
  types: { context: {} as PacingContext, events: {} as PacingMessage, emitted: {} as Fact },
  guards: {
    freesAll: ({ context, event }) => event.type === 'resume' && resume(context, event).length === 0,
    hasRoom: ({ context, event }) =>
      event.type === 'limit' && othersThan(event.label, context).length < LABEL_LIMITS_MAX,
    hasRoomForWeight: ({ context, event }) =>
      event.type === 'weigh' && (event.weight === 1 || besides(event.project, context).length < WEIGHTS_MAX),
  },
  actions: {
    ...declaredActions,
    change: assign(({ context, event }) => ({ ...changed(context, event), changed_at: event.at })),
    emitChanged: emit(({ context, event }) => stated(context, event)),
  },
})

const actions = ['change', 'emitChanged'] as const
const lanes = {
  pause: { target: 'paused', actions },
  resume: [
    { guard: 'freesAll', target: 'open', actions },
    { target: 'paused', actions },
  ],
} as const
const others = {
  limit: { guard: 'hasRoom', actions },
  unlimit: { actions },
  weigh: { guard: 'hasRoomForWeight', actions },
} as const

const pacingMachine = machineSetup.createMachine({
  id: 'pacing',
  initial: 'absent',
  context: { paused: [], label_limits: [], weights: [] } as PacingContext,
  states: {
    absent: {
      on: {
        ...lanes,
        limit: { ...others.limit, target: 'open' },
        unlimit: { ...others.unlimit, target: 'open' },
        weigh: { ...others.weigh, target: 'open' },
      },
    },
    /** No lane is paused. */
    open: { on: { ...lanes, ...others } },
    /** At least one lane is paused. */
    paused: { on: { ...lanes, ...others } },
  },
})

const testimony: Testimony<PacingContext> = {
  types: new Set([
    'pacing_paused',
    'pacing_resumed',
    'pacing_label_limited',
    'pacing_label_unlimited',
    'pacing_project_weighed',
  ]),
  aspects: ({ payload }) => [payload.label !== undefined ? 'limit' : payload.project !== undefined ? 'terms' : 'state'],
  claims: (aspect, { payload }) => {
    if (aspect === 'state') return { paused: payload.paused }
    if (aspect === 'limit') return { [limitOf(payload.label)]: payload.max_running }
    return { [weightOf(payload.project)]: payload.weight === 1 ? undefined : payload.weight }
  },
  held: ({ context }) => ({
    paused: context.paused.map(({ lane }) => lane),
    ...Object.fromEntries(context.label_limits.map(({ label, max_running }) => [limitOf(label), max_running])),
    ...Object.fromEntries(context.weights.map(({ project, weight }) => [weightOf(project), weight])),
  }),
  madeAt: () => undefined,
}

/** Name of the claim about a label. */
function limitOf(label: string): string {
  return `limit of ${label}`
}

/** Name of the claim about a project. */
function weightOf(project: string): string {
  return `weight of ${project}`
}

function refusal(_: unknown, { type }: PacingMessage): Refusal | undefined {
  if (type === 'limit') {
    const detail = `at most ${LABEL_LIMITS_MAX} labels can be limited`
    return { code: 'too_many_label_limits', detail, isOfContent: true }
  }
  if (type !== 'weigh') return undefined
  const detail = `at most ${WEIGHTS_MAX} projects can have a weight other than 1`
  return { code: 'too_many_weights', detail, isOfContent: true }
}

export const pacingModule: MachineModule<PacingContext, PacingBody> = {
  kind: 'pacing',
  version: 3,
  machine: pacingMachine,
  migrations: {
    // 2: labels may be limited.
    1: ({ context, ...snapshot }: any): unknown => ({
      ...snapshot,
      context: { paused: [], ...context, label_limits: [] },
    }),
    // 3: projects may have weights.
    2: ({ context, ...snapshot }: any): unknown => ({ ...snapshot, context: { ...context, weights: [] } }),
  },
  internal: [],
  // A repeated request states its event again: SPEC 6.10 has no request that changes nothing.
  repeats: () => undefined,
  refusal,
  envelope: () => SYSTEM_ENVELOPE,
  terms: () => [],
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document: ({ context }: SnapshotOf<PacingContext>) => ({
    lanes: lanesOf(context),
    label_limits: labelLimitsOf(context, () => undefined),
    weights: weightsOf(context),
  }),
}

/** A decision as documents show it. */
function shown({ at, origin, by }: Decided) {
  return { since: at, origin, ...(by === undefined ? {} : { by }) }
}

/** Every lane, with its pause if it has one. */
export function lanesOf({ paused = [] }: Partial<PacingContext>): Pacing['lanes'] {
  return LANES.map((lane) => {
    const pause = paused.find((one) => one.lane === lane)
    if (pause === undefined) return { lane, paused: false }
    return { lane, paused: true, ...shown(pause) }
  })
}

/** Every limited label, sorted; `underWayOf`: how many of its runs are under way, if that is known. */
export function labelLimitsOf<N extends number | undefined>(
  { label_limits = [] }: Partial<PacingContext>,
  underWayOf: (label: string) => N,
) {
  return label_limits.map(({ label, max_running, ...decision }) => ({
    label,
    max_running,
    under_way: underWayOf(label),
    ...shown(decision),
  }))
}

/** Every project that has a weight other than 1, sorted. */
export function weightsOf({ weights = [] }: Partial<PacingContext>): Pacing['weights'] {
  return weights.map(({ project, weight, ...decision }) => ({ project, weight, ...shown(decision) }))
}
