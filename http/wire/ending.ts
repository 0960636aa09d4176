/** How requests are answered once the service is about to end. */
import type { Exchange } from './exchange.ts'

export interface Ending {
  /** True once the service is stopping: each connection closes with its next answer. */
  readonly isClosing: () => boolean
  /** True once the journal has failed: the process is about to end, and its state may be wrong. */
  readonly hasFailed: () => boolean
}

/** Returns true if the service is about to end; the problem that says so was answered. */
export function refusedAtEnd({ isClosing, hasFailed }: Ending, exchange: Exchange): boolean {
  if (hasFailed()) exchange.problem('storage_failed', 'The log failed; the service is shutting down.')
  else if (isClosing()) exchange.problem('stopping', 'The service is stopping.')
  else return false
  return true
}
