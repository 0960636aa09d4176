/** What the service says of itself once it is about to end. */
import type { Exchange } from './exchange.ts'

export interface Ending {
  /** True once the service is stopping: connections end with their next answer. */
  readonly isClosing: () => boolean
  /** True once the journal has failed: the process is about to end, and what it would say of its state may be wrong. */
  readonly hasFailed: () => boolean
}

/** True: it is about to end, and the problem that says so was answered. */
export function refusedAtEnd({ isClosing, hasFailed }: Ending, exchange: Exchange): boolean {
  if (hasFailed()) exchange.problem('storage_failed', 'The log failed; the service is ending.')
  else if (isClosing()) exchange.problem('stopping', 'The service is stopping.')
  else return false
  return true
}
