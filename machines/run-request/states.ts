/** The states of a run request, and what is so in which of them: each such list stands here once. */
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
/** From which no request comes back. */
export const SETTLED_RUN_STATES = ['completed', 'failed', 'cancelled'] as const
/** In which the lease of its holder runs. */
const LEASED_RUN_STATES = ['accepted', 'started', 'cancelling'] as const
/** In which its runner is to be heard of in time: its offer runs, or its lease. */
export const AWAITED_RUN_STATES = ['offered', ...LEASED_RUN_STATES] as const
/** In which a runner holds it, or may still hold it. */
export const HELD_RUN_STATES = [...AWAITED_RUN_STATES, 'lost'] as const
export type HeldRunState = (typeof HELD_RUN_STATES)[number]

const SETTLED: ReadonlySet<string> = new Set(SETTLED_RUN_STATES)
const LEASED: ReadonlySet<string> = new Set(LEASED_RUN_STATES)
const HELD: ReadonlySet<string> = new Set(HELD_RUN_STATES)

export function isSettledRun(state: string): boolean {
  return SETTLED.has(state)
}

/** A heartbeat of its holder only prolongs the lease: nothing is written. */
export function isLeased(state: string): boolean {
  return LEASED.has(state)
}

export function isHeld(state: string): state is HeldRunState {
  return HELD.has(state)
}
