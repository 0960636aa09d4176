/**
 * Serves initiatives: when a trigger waits and no assessment is under way, or when an answer waits for the guards, it
 * reads how everything stands and sends that to the initiative, whose own step decides. Invariant: it decides and
 * stores nothing; what it has to do follows from committed state, so a restart finds it again.
 */
import type { InitiativeBody, InitiativeContext } from '../../machines/initiative/context.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { ActorRef, CommittedStep, Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import { ControlLoop } from '../control/control-loop.ts'
import type { Health } from '../control/guard.ts'
import type { Logger } from '../log.ts'
import { viewOf } from './member-views.ts'

export interface Steward {
  readonly health: Health
  close(): void
}

/** Opens the steward on what the journal holds. Call it before the runtime takes its first message. */
export function createSteward(runtime: Runtime, log: Logger): Steward {
  return new InitiativeSteward(runtime, log)
}

class InitiativeSteward implements Steward {
  private readonly runtime: Runtime
  private readonly loop: ControlLoop<'initiative'>
  /** Names of initiatives that have something to be done. */
  private readonly due = new Set<string>()

  constructor(runtime: Runtime, log: Logger) {
    this.runtime = runtime
    this.loop = new ControlLoop(runtime, {
      name: 'steward',
      log,
      kind: 'initiative',
      tickShare: 1,
      tick: () => this.tick(),
      reread: (ref) => this.note(ref, committed(runtime, ref)),
    })
    for (const { ref, snapshot } of runtime.scan('initiative', 'status', 'active'))
      this.loop.guarded(ref, () => this.note(ref, snapshot))
    runtime.onCommit((steps) => this.onCommit(steps))
  }

  get health(): Health {
    return this.loop.health
  }

  close(): void {
    this.loop.close()
  }

  private onCommit(steps: readonly CommittedStep[]): void {
    for (const { ref, after } of steps)
      if (ref.kind === 'initiative') this.loop.guarded(ref, () => this.note(ref, after))
  }

  private note({ id }: ActorRef, snapshot: SnapshotOf<InitiativeContext> | undefined): void {
    if (snapshot === undefined || !needsLook(snapshot)) return
    this.due.add(id)
    this.loop.wake()
  }

  private tick(): void {
    for (const name of this.due) {
      if (this.loop.leaves(name)) continue
      this.due.delete(name)
      this.loop.guarded({ kind: 'initiative', id: name }, () => this.look(name))
    }
  }

  private look(name: string): void {
    const message = messageFor(this.runtime, name)
    if (message === undefined) return
    this.loop.ask(name, message, (isTaken) => {
      if (!isTaken) this.due.add(name)
      else if (this.due.has(name)) this.loop.wake()
    })
  }
}

function needsLook({ value, context }: SnapshotOf<InitiativeContext>): boolean {
  return value === 'deciding' || (value === 'active' && context.waiting.length > 0)
}

/** The message that the initiative is due; undefined if there is none or it cannot be read. */
function messageFor(runtime: Runtime, name: string): InitiativeBody | undefined {
  const snapshot: SnapshotOf<InitiativeContext> | undefined = committed(runtime, { kind: 'initiative', id: name })
  if (snapshot === undefined || !needsLook(snapshot)) return undefined
  const { value, context } = snapshot
  const view = viewOf(runtime, context)
  const { assessment, waiting } = context
  return value === 'deciding'
    ? { type: 'judge', item_id: assessment!.item_id, view }
    : { type: 'assess', trigger_id: waiting[0]!.trigger_id, view }
}
