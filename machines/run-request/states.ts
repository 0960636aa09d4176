/** The states of a run request, and the sets of states that share a property; each set is defined only here. */
export const RUN_REQUEST_STATES = [
  'queued',
  'offered',
  'accepted',
  'started',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
  'lost',
] as const
/** Final states. */
export const SETTLED_RUN_STATES = ['completed', 'failed', 'cancelled'] as const
/** States in which the holder's lease runs. */
const LEASED_RUN_STATES = ['accepted', 'started', 'cancelling'] as const
/** States in which its command works: the holder has accepted it, and nobody has asked it to stop. */
const WORKING_RUN_STATES = ['accepted', 'started'] as const
/** States with a running offer or lease, in which the runner must be heard from in time. */
export const AWAITED_RUN_STATES = ['offered', ...LEASED_RUN_STATES] as const
/** States in which a runner holds the request, or may still hold it. */
export const HELD_RUN_STATES = [...AWAITED_RUN_STATES, 'lost'] as const
export type HeldRunState = (typeof HELD_RUN_STATES)[number]

const SETTLED: ReadonlySet<string> = new Set(SETTLED_RUN_STATES)
const LEASED: ReadonlySet<string> = new Set(LEASED_RUN_STATES)
const HELD: ReadonlySet<string> = new Set(HELD_RUN_STATES)
const WORKING: ReadonlySet<string> = new Set(WORKING_RUN_STATES)

export function isSettledRun(state: string): boolean {
  return SETTLED.has(state)
}

/** Whether the holder's lease runs; a heartbeat then only extends it and writes nothing. */
export function isLeased(state: string): boolean {
  return LEASED.has(state)
}

export function isWorking(state: string): boolean {
  return WORKING.has(state)
}

export function isHeld(state: string): state is HeldRunState {
  return HELD.has(state)
}
