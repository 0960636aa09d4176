/**
 * Pacing (SPEC 6.10): which lanes start nothing. One actor for the whole service, so that two operators meet in one
 * mailbox; a change is durable before anybody hears of it.
 */
import { assign, emit, setup } from 'xstate'
import type { Pacing } from './documents/pacing.ts'
import { SYSTEM_ENVELOPE } from './envelope.ts'
import {
  type ActorRef,
  type By,
  declaredActions,
  type Fact,
  type MachineModule,
  type Message,
  type MessageBody,
  type SnapshotOf,
} from './machine.ts'
import { LANES, type Lane } from './run-request/lanes.ts'
import type { Testimony } from './testimony.ts'

export const PACING: ActorRef = { kind: 'pacing', id: 'pacing' }

/** When a lane was paused, by whom, and from where. */
interface LanePause {
  readonly lane: Lane
  readonly at: string
  readonly origin: string
  readonly by?: By
}

export interface PacingContext {
  /** In lane order. */
  readonly paused: readonly LanePause[]
  readonly changed_at?: string
}

export interface ChangeLanes extends MessageBody {
  readonly type: 'pause' | 'resume'
  /** The lanes that the request names. */
  readonly lanes: readonly Lane[]
}

type PacingMessage = Message<ChangeLanes>

function originOf(by: By | undefined): string {
  return by?.origin ?? 'unknown'
}

function inOrder(lanes: readonly Lane[]): Lane[] {
  return LANES.filter((lane) => lanes.includes(lane))
}

/** A lane that is already paused keeps its earlier pause. */
function pause({ paused = [] }: PacingContext, { lanes, by, at }: PacingMessage): LanePause[] {
  return inOrder([...paused.map(({ lane }) => lane), ...lanes]).map(
    (lane) =>
      paused.find((one) => one.lane === lane) ?? {
        lane,
        at,
        origin: originOf(by),
        ...(by === undefined ? {} : { by }),
      },
  )
}

function resume({ paused = [] }: PacingContext, { lanes }: PacingMessage): LanePause[] {
  return paused.filter(({ lane }) => !lanes.includes(lane))
}

function stated(type: 'pacing_paused' | 'pacing_resumed', { paused }: PacingContext, message: PacingMessage): Fact {
  const { lanes, by } = message
  return {
    type,
    payload: { lanes: inOrder(lanes), operator_origin: originOf(by), paused: paused.map(({ lane }) => lane) },
  }
}

const machineSetup = setup({
  types: { context: {} as PacingContext, events: {} as PacingMessage, emitted: {} as Fact },
  guards: {
    freesAll: ({ context, event }) => resume(context, event).length === 0,
  },
  actions: {
    ...declaredActions,
    pause: assign(({ context, event }) => ({ paused: pause(context, event), changed_at: event.at })),
    resume: assign(({ context, event }) => ({ paused: resume(context, event), changed_at: event.at })),
    emitPaused: emit(({ context, event }) => stated('pacing_paused', context, event)),
    emitResumed: emit(({ context, event }) => stated('pacing_resumed', context, event)),
  },
})

const pauses = { target: 'paused', actions: ['pause', 'emitPaused'] } as const
const resumes = [
  { guard: 'freesAll', target: 'open', actions: ['resume', 'emitResumed'] },
  { target: 'paused', actions: ['resume', 'emitResumed'] },
] as const
const changes = { pause: pauses, resume: resumes } as const

const pacingMachine = machineSetup.createMachine({
  id: 'pacing',
  initial: 'absent',
  context: {} as PacingContext,
  states: {
    absent: { on: changes },
    /** No lane is paused. */
    open: { on: changes },
    /** At least one lane is paused. */
    paused: { on: changes },
  },
})

const testimony: Testimony<PacingContext> = {
  types: new Set(['pacing_paused', 'pacing_resumed']),
  aspects: () => ['state'],
  claims: (_, { payload }) => ({ paused: payload.paused }),
  held: ({ context }) => ({ paused: context.paused.map(({ lane }) => lane) }),
  madeAt: () => undefined,
}

export const pacingModule: MachineModule<PacingContext, ChangeLanes> = {
  kind: 'pacing',
  version: 1,
  machine: pacingMachine,
  migrations: {},
  internal: [],
  // A repeated request states its event again: SPEC 6.10 has no request that changes nothing.
  repeats: () => undefined,
  refusal: () => undefined,
  envelope: () => SYSTEM_ENVELOPE,
  terms: () => [],
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document: ({ context }: SnapshotOf<PacingContext>): Pick<Pacing, 'lanes'> => ({ lanes: lanesOf(context) }),
}

/** Every lane, with its pause if it has one. */
export function lanesOf({ paused = [] }: Partial<PacingContext>): Pacing['lanes'] {
  return LANES.map((lane) => {
    const pause = paused.find((one) => one.lane === lane)
    if (pause === undefined) return { lane, paused: false }
    const { at, origin, by } = pause
    return { lane, paused: true, since: at, origin, ...(by === undefined ? {} : { by }) }
  })
}
