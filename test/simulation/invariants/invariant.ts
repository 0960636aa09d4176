/** One promise of the service, and the hooks through which it sees the world. A broken promise throws Violation. */
import type { CommittedStep } from '../../../runtime/api.ts'
import type { Commit, Step } from '../../../storage/journal.ts'
import type { LoggedEvent } from '../model/mirror.ts'
import type { OwnerMove } from '../model/owners.ts'
import type { RequestModel } from '../model/requests.ts'
import type { Said } from '../network.ts'
import type { Process } from '../process.ts'
import type { World } from '../world.ts'

export interface Invariant {
  readonly name: string
  /** An event is on disk; the model of the run requests does not know it yet. */
  before?(event: LoggedEvent): void
  /** The same, and the model knows it. `request`: the run request whose event it is. */
  event?(event: LoggedEvent, request: RequestModel | undefined): void
  /** The steps of one batch are on disk. */
  steps?(steps: readonly Step[]): void
  /** One of them is of a campaign, an initiative, or an item of theirs; the model knows it, and nothing that is later. */
  owner?(move: OwnerMove): void
  /** Retention has taken the events from one sequence to another, which is the oldest now. */
  forgets?(from: number, until: number): void
  /** The service gives an answer. */
  said?(said: Said): void
  /** The service tells itself of a commit. */
  committed?(steps: readonly CommittedStep[], commit: Commit, process: Process): void
  /** A process begins to start. */
  boots?(): void
  /** A process has started and serves. */
  serves?(process: Process): void
  /** Once a second, virtual. */
  looks?(): void
  /** Asked in the calm: what is promised and has not come about yet. Undefined: all is well. */
  owed?(): string | undefined
  /** The last look, at a service that is at rest. */
  finally?(process: Process): void | Promise<void>
}

export type MakeInvariant = (world: World) => Invariant
