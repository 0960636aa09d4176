/**
 * Steps a statechart as a pure function. `transition()` of XState builds a throw-away actor per call; here one
 * inert scope per machine is built once and used for every step (about four times as fast, measured in bench/).
 * That scope's shape is public but its builder is not, so this is the only file besides `machines/` that knows
 * XState, and a property test holds it against `transition()` (test/runtime/scope.test.ts).
 */
import { type AnyActorScope, createActor } from 'xstate'
import type {
  CancelTimerParams,
  Fact,
  MachineModule,
  Message,
  ScheduleParams,
  SendParams,
  SnapshotOf,
} from '../machines/machine.ts'

export type Outcome =
  | { readonly kind: 'fact'; readonly fact: Fact }
  | { readonly kind: 'send'; readonly send: SendParams }
  | { readonly kind: 'schedule'; readonly schedule: ScheduleParams }
  | { readonly kind: 'cancelTimer'; readonly cancelTimer: CancelTimerParams }

/** Refused at registration: what a durable, single-step machine cannot have. */
export class MachineRefused extends Error {
  override readonly name = 'MachineRefused'
}

interface ExecutableAction {
  readonly type: string
  readonly params: any
}

/** One machine with its cached scope. */
export class Stepper {
  readonly module: MachineModule
  /** The snapshot in state `absent`: what an actor without a record is. */
  readonly initial: SnapshotOf<any>
  private readonly scope: AnyActorScope
  private actions: ExecutableAction[] = []
  private readonly allowedByState = new Map<string, readonly string[]>()

  constructor(module: MachineModule) {
    refuseWhatCannotBeDurable(module)
    this.module = module
    const self = createActor(module.machine)
    this.scope = {
      self,
      system: self.system,
      id: '',
      sessionId: '',
      logger: () => {},
      defer: () => {},
      stopChild: () => {},
      emit: () => {},
      actionExecutor: (action: unknown) => {
        this.actions.push(action as ExecutableAction)
      },
    } as unknown as AnyActorScope
    this.initial = module.machine.getInitialSnapshot(this.scope as any) as unknown as SnapshotOf<any>
    this.actions = []
  }

  /**
   * One pure step: the new snapshot, and what the step asks for in `outcomes`, in order. XState hands the same
   * snapshot back when the chart takes no transition, but also when one that is taken only asks for something:
   * `snapshot.can(message)` tells the two apart. Throws what a guard or an action throws.
   */
  step(snapshot: SnapshotOf<any>, message: Message, outcomes: Outcome[]): SnapshotOf<any> {
    this.actions = []
    const next = this.module.machine.transition(snapshot as any, message as any, this.scope as any)
    for (const action of this.actions) outcomes.push(outcomeOf(action))
    return next as unknown as SnapshotOf<any>
  }

  /** Opens a persisted snapshot. Throws synchronously when the machine cannot. */
  restore(persisted: unknown): SnapshotOf<any> {
    return this.module.machine.restoreSnapshot(persisted as any, this.scope as any) as unknown as SnapshotOf<any>
  }

  /** The messages from outside that the chart knows in this state (guards not asked). */
  allowed(snapshot: SnapshotOf<any>): readonly string[] {
    const state = String(snapshot.value)
    let allowed = this.allowedByState.get(state)
    if (allowed === undefined) {
      const node = this.module.machine.states[state]
      const events: readonly string[] = [...(node?.ownEvents ?? []), ...(this.module.machine.root.ownEvents ?? [])]
      allowed = [...new Set(events)].filter((type) => !this.module.internal.includes(type)).sort()
      this.allowedByState.set(state, allowed)
    }
    return allowed
  }
}

function outcomeOf(action: ExecutableAction): Outcome {
  switch (action.type) {
    case 'xstate.emit':
      return { kind: 'fact', fact: action.params.event as Fact }
    case 'send':
      return { kind: 'send', send: action.params as SendParams }
    case 'schedule':
      return { kind: 'schedule', schedule: action.params as ScheduleParams }
    case 'cancelTimer':
      return { kind: 'cancelTimer', cancelTimer: action.params as CancelTimerParams }
    default:
      throw new Error(`the machine asked for an action that the runtime does not know: ${action.type}`)
  }
}

function refuseWhatCannotBeDurable(module: MachineModule): void {
  const { machine } = module
  if (Object.keys(machine.implementations.actors ?? {}).length > 0)
    throw new MachineRefused(`${module.kind}: actors cannot be spawned or invoked in a durable machine`)
  if (machine.states.absent === undefined || machine.config.initial !== 'absent')
    throw new MachineRefused(`${module.kind}: a machine starts in the state absent`)
  for (const [name, node] of Object.entries(machine.states)) {
    const where = `${module.kind}.${name}`
    if (node.invoke.length > 0) throw new MachineRefused(`${where}: invoke is not durable`)
    if (node.after.length > 0) throw new MachineRefused(`${where}: use schedule, XState keeps no timers`)
    if (node.type !== 'atomic') throw new MachineRefused(`${where}: only plain states, no nesting, history or final`)
  }
}
