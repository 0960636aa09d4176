/** The token that may do everything: what it is, whoever makes it and when. */
import type { By } from '../../machines/machine.ts'
import type { Reservation } from '../../storage/journal.ts'
import type { Answer, MessageBody, Runtime } from '../api.ts'

interface AdminToken {
  readonly id: string
  readonly hash: string
  readonly by: By
  /** Written down with the step that makes it. */
  readonly reservation?: Reservation
}

/** Resolves to the answer to the step that makes it. */
export function createAdminToken(runtime: Runtime, token: AdminToken): Promise<Answer> {
  const message = { type: 'create', name: 'admin', roles: ['admin'], rights: [], projects: '*', ...token }
  return runtime.askAsync({ kind: 'token', id: token.id }, message as MessageBody)
}
