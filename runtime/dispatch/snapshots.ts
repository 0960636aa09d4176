/** How the dispatcher reads run requests: their committed snapshots, and in which states a runner holds them. */
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../committed.ts'

/** States of a run request in which a runner holds it, or may still hold it. */
export type HeldState = 'offered' | 'accepted' | 'started' | 'cancelling' | 'lost'
export const heldStates: readonly HeldState[] = ['offered', 'accepted', 'started', 'cancelling', 'lost']

export function isHeld(state: string): state is HeldState {
  return (heldStates as readonly string[]).includes(state)
}

/** The committed snapshot of a run request, or undefined when there is none that can be read. */
export function readRequest(runtime: Runtime, id: string): SnapshotOf<RunRequestContext> | undefined {
  return committed(runtime, { kind: 'run_request', id })
}
