/**
 * Steps a statechart as a pure function. XState is the single definition of every machine, but its interpreter spends
 * most of a step on features that durable machines do not have (nesting, history, invoked actors, delays). So when the
 * service starts, a flat table (state, message) -> candidates is read from each machine, and a step is a look-up, its
 * guards and its actions: 0.4 us where `transition()` took 11 us in the server (bench `cycles`).
 *
 * Hot: no promise and no closure per step. A machine that the table cannot express is refused at registration, and
 * a property test checks every step against XState's `transition()` (test/runtime/stepper.test.ts).
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate'
import {
  type CancelTimerParams,
  EMITTED_GUARD,
  type Fact,
  type MachineModule,
  type Message,
  type ScheduleParams,
  type SendParams,
  type SnapshotOf,
} from '../machines/machine.ts'

export type Outcome =
  | { readonly kind: 'fact'; readonly fact: Fact }
  | { readonly kind: 'send'; readonly send: SendParams }
  | { readonly kind: 'schedule'; readonly schedule: ScheduleParams }
  | { readonly kind: 'cancelTimer'; readonly cancelTimer: CancelTimerParams }

/** Thrown at registration: the chart uses a feature that a durable, single-step machine cannot have. */
export class MachineRefused extends Error {
  override readonly name = 'MachineRefused'
}

/** The argument of guards and actions: XState's, without the live references. */
interface Args {
  context: object
  event: Message
}

type Guard = (args: Args) => boolean
/** As a chart writes them: a value, or a function of context and message. */
type Params = unknown

type Action =
  | { readonly does: 'assign'; readonly assignment: Assignment; readonly params: Params }
  | { readonly does: 'emit'; readonly event: unknown; readonly params: Params }
  | { readonly does: 'enqueue'; readonly collect: Collect; readonly params: Params }
  | { readonly does: 'declared'; readonly type: string; readonly params: Params }

type Assignment = ((args: Args, params: unknown) => object) | Readonly<Record<string, unknown>>
type Collect = (args: Args & { enqueue: Enqueue; check: (guard: string) => boolean }, params: unknown) => void
type Enqueue = ((action: unknown) => void) & { emit(event: unknown): void; assign(assignment: Assignment): void }

interface Candidate {
  readonly guard: Guard | undefined
  /** Undefined: the state stays. */
  readonly target: string | undefined
  readonly actions: readonly Action[]
}

const NO_CANDIDATES: readonly Candidate[] = []

/** A table depends only on its machine, so each machine has one per process, however often a service starts. */
const steppers = new WeakMap<MachineModule, Stepper>()

/** The machine's table. Throws MachineRefused. */
export function stepperOf(module: MachineModule): Stepper {
  const known = steppers.get(module)
  if (known !== undefined) return known
  const made = new Stepper(module)
  steppers.set(module, made)
  return made
}

/** One machine as a table. */
export class Stepper {
  readonly module: MachineModule
  /** The snapshot in state `absent`: that of an actor without a record. */
  readonly initial: SnapshotOf<any>
  private readonly table = new Map<string, Map<string, readonly Candidate[]>>()
  /** By state, the messages that may come from outside, sorted. */
  private readonly door = new Map<string, readonly string[]>()
  private readonly implementations: Implementations

  constructor(module: MachineModule) {
    refuseWhatCannotBeDurable(module)
    this.module = module
    const { machine } = module
    this.implementations = new Implementations(machine, module.kind)
    const context = typeof machine.config.context === 'function' ? {} : (machine.config.context ?? {})
    this.initial = { status: 'active', value: 'absent', context }
    for (const [state, node] of Object.entries(machine.states)) {
      this.table.set(state, this.candidatesOf(node))
      this.door.set(state, this.doorOf(node))
    }
  }

  /**
   * One pure step. Returns undefined if the chart does not take the message in this state, the same snapshot if it
   * does but nothing in it changes, else a new one. The effects the step asks for are appended to `outcomes`, in
   * order. Throws what a guard or an action throws.
   */
  step(snapshot: SnapshotOf<any>, message: Message, outcomes: Outcome[]): SnapshotOf<any> | undefined {
    const candidates = this.table.get(snapshot.value)?.get(message.type) ?? NO_CANDIDATES
    const args: Args = { context: snapshot.context, event: message }
    for (const { guard, target, actions } of candidates) {
      if (guard !== undefined && !guard(args)) continue
      for (const action of actions) this.carryOut(action, args, outcomes)
      const value = target ?? snapshot.value
      if (value === snapshot.value && args.context === snapshot.context) return snapshot
      return { status: 'active', value, context: args.context }
    }
    return undefined
  }

  /** Opens a snapshot in XState's persisted form. Throws if the machine has no such state. */
  restore(persisted: unknown): SnapshotOf<any> {
    const { value, context } = persisted as SnapshotOf<any>
    if (!this.table.has(value)) throw new Error(`${this.module.kind} has no state ${JSON.stringify(value)}`)
    return { status: 'active', value, context }
  }

  /** The outside messages that the chart knows in this state, except `refused`. Guards are not asked. */
  allowed(snapshot: SnapshotOf<any>, refused?: string): readonly string[] {
    const known = this.door.get(snapshot.value) ?? []
    return known.filter((type) => type !== refused)
  }

  private carryOut(action: Action, args: Args, outcomes: Outcome[]): void {
    const params = typeof action.params === 'function' ? action.params(args) : action.params
    switch (action.does) {
      case 'assign':
        args.context = assigned(action.assignment, args, params)
        break
      case 'emit': {
        const { event } = action
        outcomes.push({ kind: 'fact', fact: (typeof event === 'function' ? event(args, params) : event) as Fact })
        break
      }
      case 'enqueue':
        this.enqueue(action.collect, args, params, outcomes)
        break
      case 'declared':
        // Undefined params mean no effect: some moves act only in certain cases.
        if (params !== undefined) outcomes.push(outcomeOf(action.type, params))
    }
  }

  /** Enqueued actions are resolved after the collector has returned, each against the context at that point. */
  private enqueue(collect: Collect, args: Args, params: unknown, outcomes: Outcome[]): void {
    const collected: Action[] = []
    const add = (action: unknown): void => {
      collected.push(this.implementations.action(action))
    }
    const enqueue = Object.assign(add, {
      emit: (event: unknown) => void collected.push({ does: 'emit', event, params: undefined }),
      assign: (assignment: Assignment) => void collected.push({ does: 'assign', assignment, params: undefined }),
    })
    const check = (guard: string): boolean => this.implementations.guard(guard)!(args)
    collect({ context: args.context, event: args.event, enqueue, check }, params)
    for (const action of collected) this.carryOut(action, args, outcomes)
  }

  private doorOf({ transitions }: AnyStateNode): readonly string[] {
    const isOpen = (type: string): boolean =>
      !this.module.internal.includes(type) && transitions.get(type)!.some(({ guard }) => guard !== EMITTED_GUARD)
    return [...transitions.keys()].filter(isOpen).sort()
  }

  private candidatesOf(node: AnyStateNode): Map<string, readonly Candidate[]> {
    const byMessage = new Map<string, readonly Candidate[]>()
    for (const [type, transitions] of node.transitions) {
      if (type.includes('*'))
        throw new MachineRefused(`${this.module.kind}.${node.key}: name every message, not ${type}`)
      byMessage.set(
        type,
        transitions.map((transition) => ({
          guard: this.implementations.guard(transition.guard),
          target: transition.target?.[0]?.key,
          actions: transition.actions.map((action) => this.implementations.action(action)),
        })),
      )
    }
    return byMessage
  }
}

function assigned(assignment: Assignment, args: Args, params: unknown): object {
  if (typeof assignment === 'function') return Object.assign({}, args.context, assignment(args, params))
  const changed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(assignment))
    changed[name] = typeof value === 'function' ? value(args, params) : value
  return Object.assign({}, args.context, changed)
}

function outcomeOf(type: string, params: unknown): Outcome {
  switch (type) {
    case 'send':
      return { kind: 'send', send: params as SendParams }
    case 'schedule':
      return { kind: 'schedule', schedule: params as ScheduleParams }
    default:
      return { kind: 'cancelTimer', cancelTimer: params as CancelTimerParams }
  }
}

const DECLARED: readonly string[] = ['send', 'schedule', 'cancelTimer']

/** The named guards and actions of one machine, in the table's form. */
class Implementations {
  private readonly machine: AnyStateMachine
  private readonly kind: string

  constructor(machine: AnyStateMachine, kind: string) {
    this.machine = machine
    this.kind = kind
  }

  guard(guard: unknown): Guard | undefined {
    if (guard === undefined) return undefined
    if (typeof guard !== 'string') throw new MachineRefused(`${this.kind}: guards are named, without parameters`)
    const implementation = this.machine.implementations.guards?.[guard]
    if (typeof implementation !== 'function' || 'check' in implementation)
      throw new MachineRefused(`${this.kind}: the guard ${guard} is not a plain function`)
    return implementation as Guard
  }

  /** An action as a chart writes it: a name, a name with parameters, or one of XState's built-ins inline. */
  action(written: unknown): Action {
    if (typeof written === 'function') return this.builtIn(written, 'an action in place', undefined)
    const { type, params } = (typeof written === 'string' ? { type: written, params: undefined } : written) as {
      type: string
      params: Params
    }
    if (DECLARED.includes(type)) return { does: 'declared', type, params }
    return this.builtIn(this.machine.implementations.actions?.[type], type, params)
  }

  private builtIn(implementation: unknown, name: string, params: Params): Action {
    const built = implementation as
      | { type?: string; assignment?: Assignment; event?: unknown; collect?: Collect }
      | undefined
    switch (built?.type) {
      case 'xstate.assign':
        return { does: 'assign', assignment: built.assignment!, params }
      case 'xstate.emit':
        return { does: 'emit', event: built.event, params }
      case 'xstate.enqueueActions':
        return { does: 'enqueue', collect: built.collect!, params }
      default:
        throw new MachineRefused(`${this.kind}: ${name} is not an action that the runtime carries out`)
    }
  }
}

function refuseWhatCannotBeDurable(module: MachineModule): void {
  const { machine } = module
  if (Object.keys(machine.implementations.actors ?? {}).length > 0)
    throw new MachineRefused(`${module.kind}: actors cannot be spawned or invoked in a durable machine`)
  if (machine.states.absent === undefined || machine.config.initial !== 'absent')
    throw new MachineRefused(`${module.kind}: a machine starts in the state absent`)
  if (machine.root.transitions.size > 0)
    throw new MachineRefused(`${module.kind}: every state names its own messages, the root none`)
  for (const [name, node] of Object.entries(machine.states)) {
    const where = `${module.kind}.${name}`
    if (node.invoke.length > 0) throw new MachineRefused(`${where}: invoke is not durable`)
    if (node.after.length > 0) throw new MachineRefused(`${where}: use schedule, XState keeps no timers`)
    if (node.type !== 'atomic') throw new MachineRefused(`${where}: only plain states, no nesting, history or final`)
    if (node.entry.length + node.exit.length + (node.always?.length ?? 0) > 0)
      throw new MachineRefused(`${where}: actions stand on moves, and a message makes one move`)
  }
}
