/**
 * Looks after initiatives: when a request waits and nothing is being assessed, and when an answer waits for the guards,
 * it reads how everything stands and tells the initiative, whose own step decides. Its invariant: it decides nothing and
 * keeps nothing; what it finds to do is in committed state, so that a restart finds it again.
 */
import type { InitiativeBody, InitiativeContext } from '../../machines/initiative/context.ts'
import type { MessageBody, SnapshotOf } from '../../machines/machine.ts'
import { Alarm } from '../alarm.ts'
import type { CommittedStep, Runtime } from '../api.ts'
import { committed } from '../committed.ts'
import { viewOf } from './sights.ts'

/** While the service refuses writes, and after a message that was not taken, it is tried again after this long. */
const RETRY_MS = 250

export interface Steward {
  close(): void
}

/** Opens the steward on what the journal holds. Call it before the runtime takes its first message. */
export function createSteward(runtime: Runtime): Steward {
  return new InitiativeSteward(runtime)
}

class InitiativeSteward implements Steward {
  private readonly runtime: Runtime
  private readonly alarm: Alarm
  /** Names of initiatives that something is to be done about. */
  private readonly due = new Set<string>()
  /** Those that a message of ours is on its way to. */
  private readonly under = new Set<string>()
  private isWoken = false
  private isClosed = false

  constructor(runtime: Runtime) {
    this.runtime = runtime
    this.alarm = new Alarm(runtime.nature, () => this.wake())
    for (const { ref, snapshot } of runtime.scan('initiative', 'status', 'active')) this.note(ref.id, snapshot)
    runtime.onCommit((steps) => this.onCommit(steps))
  }

  close(): void {
    this.isClosed = true
    this.alarm.clear()
  }

  private onCommit(steps: readonly CommittedStep[]): void {
    for (const { ref, after } of steps) if (ref.kind === 'initiative') this.note(ref.id, after)
  }

  private note(name: string, snapshot: SnapshotOf<InitiativeContext>): void {
    if (!needsLook(snapshot)) return
    this.due.add(name)
    this.wake()
  }

  private wake(): void {
    if (this.isWoken || this.isClosed) return
    this.isWoken = true
    this.runtime.nature.nextTurn(() => this.tick())
  }

  private tick(): void {
    this.isWoken = false
    if (this.isClosed) return
    if (this.runtime.journal.refuses() !== undefined) {
      this.alarm.set(RETRY_MS)
      return
    }
    for (const name of this.due) {
      if (this.under.has(name)) continue
      this.due.delete(name)
      this.look(name)
    }
  }

  private look(name: string): void {
    const ref = { kind: 'initiative', id: name } as const
    const message = messageFor(this.runtime, name)
    if (message === undefined) return
    this.under.add(name)
    this.runtime.ask(ref, message, (answer) => {
      this.under.delete(name)
      if (answer.ok) {
        if (this.due.has(name)) this.wake()
        return
      }
      this.due.add(name)
      this.alarm.set(RETRY_MS)
    })
  }
}

function needsLook({ value, context }: SnapshotOf<InitiativeContext>): boolean {
  return value === 'deciding' || (value === 'active' && context.waiting.length > 0)
}

/** What the initiative is to be told now; undefined: nothing, or it cannot be read. */
function messageFor(runtime: Runtime, name: string): MessageBody | undefined {
  const snapshot: SnapshotOf<InitiativeContext> | undefined = committed(runtime, { kind: 'initiative', id: name })
  if (snapshot === undefined || !needsLook(snapshot)) return undefined
  const { value, context } = snapshot
  const view = viewOf(runtime, context)
  const { assessment, waiting } = context
  const message: InitiativeBody =
    value === 'deciding'
      ? { type: 'judge', item_id: assessment!.item_id, view }
      : { type: 'assess', trigger_id: waiting[0]!.trigger_id, view }
  return message
}
