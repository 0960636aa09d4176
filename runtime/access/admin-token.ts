/** Creates the admin token, which may do everything: for the first start and for a restore. */
import type { By } from '../../machines/machine.ts'
import type { TokenBody } from '../../machines/token.ts'
import type { Reservation } from '../../storage/journal.ts'
import type { Answer, Runtime } from '../api.ts'

interface AdminToken {
  readonly id: string
  readonly hash: string
  readonly by: By
  /** Stored with the step that creates the token. */
  readonly reservation?: Reservation
}

/** Resolves to the answer to the step that creates the token. */
export function createAdminToken(runtime: Runtime, token: AdminToken): Promise<Answer> {
  const message: TokenBody = { type: 'create', name: 'admin', roles: ['admin'], rights: [], projects: '*', ...token }
  return runtime.askAsync({ kind: 'token', id: token.id }, message)
}
