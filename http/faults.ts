/** Maps what was thrown while a request was handled to the problem that its client is sent. */
import { readFault } from '../storage/read-fault.ts'
import type { ProblemCode } from './problems.ts'

interface Fault {
  readonly code: ProblemCode
  readonly detail: string
  /** Whether it is logged, too. */
  readonly isLogged: boolean
}

const READ_FAULTS = {
  damaged: { code: 'quarantined', detail: 'The requested data cannot be read from disk.' },
  short: {
    code: 'overloaded',
    detail: 'The service has too few file descriptors or too little memory to read the requested data.',
  },
} as const

/**
 * A record that cannot be read, a lagging view and a failed journal are operating errors (503; damage is logged too);
 * anything else is a programming error (500).
 */
export function faultOf(error: unknown): Fault {
  const { name, message } = (error ?? {}) as Partial<Error>
  switch (name) {
    case 'ViewBehind':
      return {
        code: 'view_behind',
        detail: 'The view did not catch up with the newest writes in time.',
        isLogged: false,
      }
    case 'Quarantined':
      return { code: 'quarantined', detail: String(message), isLogged: false }
    case 'CorruptRow':
      return { code: 'quarantined', detail: `The requested data cannot be read: ${message}.`, isLogged: true }
    case 'RunKeyFailure':
      return { code: 'disk_reserve', detail: 'The key for tokens of runs cannot be written.', isLogged: true }
    case 'JournalFailure':
      return { code: 'storage_failed', detail: 'The log failed; the service is shutting down.', isLogged: false }
    default: {
      const fault = readFault(error)
      if (fault !== undefined) return { ...READ_FAULTS[fault], isLogged: true }
      const detail = 'The request failed; it may or may not have taken effect.'
      return { code: 'internal_error', detail, isLogged: true }
    }
  }
}
