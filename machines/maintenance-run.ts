/**
 * The maintenance run of an engine (SPEC 6.13, 8): driven by the events that the engine emits, and ended by the service
 * at the next start if a stop cut it off. Invariant: it is completed once, and its end starts nothing.
 */
import { assign, emit, setup } from 'xstate'
import {
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type Message,
  type MessageBody,
  type SnapshotOf,
  type Term,
  type Throttle,
} from './machine.ts'
import type { ProjectStatus } from './maintenance-run/reports.ts'

/** The most projects that a run remembers individually. */
const PROJECTS_MAX = 1_000

interface ProjectPart {
  readonly name: string
  readonly started_at: string
  readonly status?: ProjectStatus
  readonly duration_secs?: number
}

/** The event that reported the beginning: an interruption has it as its cause, and its trace. */
interface BeginEvent {
  readonly id: string
  readonly occurred_at: string
  /** Absent for runs recorded by older versions, meaning `full`. */
  readonly throttle?: Throttle
  readonly trace_id: string
  readonly span_id: string | null
  readonly gather_id: string | null
}

interface MaintenanceRunContext {
  /** Key of the project for which it was first reported; its end is stated there. */
  readonly project: string
  readonly begin_event: BeginEvent
  readonly recorded_at: string
  readonly projects: readonly ProjectPart[]
  readonly ended_at?: string
}

interface Begin extends MessageBody {
  readonly type: 'begin'
  readonly project: string
  readonly name: string
  readonly event: BeginEvent
}

interface ProjectEnded extends MessageBody {
  readonly type: 'project_ended'
  readonly project: string
  readonly name: string
  readonly status: ProjectStatus
  readonly occurred_at: string
}

interface Complete extends MessageBody {
  readonly type: 'complete'
  readonly project: string
}

/** From the service: the process that ran it is gone. */
interface Interrupt extends MessageBody {
  readonly type: 'interrupt'
}

export type MaintenanceRunBody = Begin | ProjectEnded | Complete | Interrupt
type MaintenanceRunMessage = Message<MaintenanceRunBody>
type Of<T extends MaintenanceRunBody['type']> = Message<Extract<MaintenanceRunBody, { type: T }>>

function partOf({ projects = [] }: Partial<MaintenanceRunContext>, name: string): ProjectPart | undefined {
  return projects.find((part) => part.name === name)
}

function newPart({ name, event }: Of<'begin'>): ProjectPart {
  return { name, started_at: event.occurred_at }
}

function secondsBetween(from: string, to: string): number {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000
  return seconds > 0 ? seconds : 0
}

function ended(part: ProjectPart, { status, occurred_at }: Of<'project_ended'>): ProjectPart {
  return { ...part, status, duration_secs: secondsBetween(part.started_at, occurred_at) }
}

/** The payload of an interruption: a project whose end was not reported is interrupted, its duration unknown. */
function interrupted({ projects }: MaintenanceRunContext) {
  const shown = projects.map(({ name, status = 'interrupted', duration_secs = 0 }) => ({ duration_secs, name, status }))
  const count = (status: ProjectStatus): number => shown.filter((part) => part.status === status).length
  return {
    failed: count('failed'),
    projects: shown,
    skipped: count('skipped'),
    succeeded: count('succeeded'),
    total: shown.length,
  }
}

const machineSetup = setup({
  types: { context: {} as MaintenanceRunContext, events: {} as MaintenanceRunMessage, emitted: {} as Fact },
  guards: {
    isNew: ({ context, event }) => {
      const { projects } = context
      return projects.length < PROJECTS_MAX && partOf(context, (event as Of<'begin'>).name) === undefined
    },
    isUnderWay: ({ context, event }) => {
      const part = partOf(context, (event as Of<'project_ended'>).name)
      return part !== undefined && part.status === undefined
    },
    isOfIt: ({ context, event }) =>
      context.project === (event as Of<'complete'>).project ||
      partOf(context, (event as Of<'complete'>).project) !== undefined,
  },
  actions: {
    ...declaredActions,
    begin: assign(({ event }) => {
      const { project, event: begin_event, at } = event as Of<'begin'>
      return { project, begin_event, recorded_at: at, projects: [newPart(event as Of<'begin'>)] }
    }),
    addProject: assign(({ context, event }) => ({
      projects: [...context.projects, newPart(event as Of<'begin'>)],
    })),
    endProject: assign(({ context, event }) => ({
      projects: context.projects.map((part) =>
        part.name === (event as Of<'project_ended'>).name ? ended(part, event as Of<'project_ended'>) : part,
      ),
    })),
    end: assign(({ event }) => ({ ended_at: event.at })),
    emitInterrupted: emit(({ context }) => ({ type: 'maintenance_run_completed', payload: interrupted(context) })),
  },
})

const maintenanceRunMachine = machineSetup.createMachine({
  id: 'maintenance_run',
  initial: 'absent',
  context: {} as MaintenanceRunContext,
  states: {
    absent: { on: { begin: { target: 'running', actions: 'begin' } } },
    running: {
      on: {
        begin: { guard: 'isNew', actions: 'addProject' },
        project_ended: { guard: 'isUnderWay', actions: 'endProject' },
        complete: { guard: 'isOfIt', target: 'ended', actions: 'end' },
        interrupt: { target: 'ended', actions: ['end', 'emitInterrupted'] },
      },
    },
    ended: {},
  },
})

function repeats({ value, context }: SnapshotOf<MaintenanceRunContext>, message: MaintenanceRunMessage) {
  if (value === 'absent') return undefined
  if (message.type === 'complete' || message.type === 'interrupt')
    return value === 'ended' ? 'already_ended' : undefined
  const part = partOf(context, message.name)
  if (message.type === 'begin') return part === undefined ? undefined : 'already_begun'
  return part?.status === undefined ? undefined : 'already_ended'
}

function envelope({ project, begin_event }: MaintenanceRunContext): FactEnvelope {
  const { id: causation_id, throttle = 'full', trace_id, span_id, gather_id } = begin_event
  return { project, throttle, trace_id, span_id, parent_span_id: null, causation_id, gather_id }
}

function terms({ value, context }: SnapshotOf<MaintenanceRunContext>): readonly Term[] {
  return [{ index: 'state', value, order: context.recorded_at }]
}

export const maintenanceRunModule: MachineModule<MaintenanceRunContext, MaintenanceRunBody> = {
  kind: 'maintenance_run',
  version: 1,
  machine: maintenanceRunMachine,
  migrations: {},
  internal: ['begin', 'project_ended', 'complete', 'interrupt'],
  repeats,
  refusal: () => undefined,
  envelope,
  terms,
  retirement: { index: 'state', values: ['ended'], at: ({ context }) => context.ended_at },
  deadlineStates: [],
  deadlines: () => [],
  // Its end names no run (SPEC 6.13), so it asserts nothing about one.
  testimony: {
    types: new Set(['maintenance_run_completed']),
    aspects: () => [],
    claims: () => ({}),
    held: () => ({}),
    madeAt: () => undefined,
  },
  document: ({ value, context }) => ({ state: value, ...context }),
}
