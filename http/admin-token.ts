/**
 * The first token: created when the service starts on a home that has none, and written to `admin.token`, readable by
 * the owner only. The file and its directory entry are synced before the commit; a process killed in between simply
 * creates another token at its next start.
 */

import { deriveId } from '../machines/ids.ts'
import { SERVICE_BY } from '../machines/machine.ts'
import { createAdminToken } from '../runtime/access/admin-token.ts'
import { newSecret } from '../runtime/access/secrets.ts'
import type { Runtime } from '../runtime/api.ts'
import type { Logger } from '../runtime/log.ts'
import { writeOwnerOnly } from '../storage/files/flush.ts'
import { adminTokenPath } from '../storage/home/home-paths.ts'

/** Does nothing if a token was ever created. Throws if the token cannot be stored. `save` replaces writing the file. */
export async function ensureAdminToken(runtime: Runtime, log: Logger, save?: (token: string) => void): Promise<void> {
  const { snapshots } = await runtime.list({ kind: 'token', index: 'all', value: '', limit: 1, waits: true })
  if (snapshots.length > 0) return
  const { token, hash } = newSecret()
  const file = adminTokenPath(runtime.settings.home)
  if (save === undefined) writeOwnerOnly(file, `${token}\n`)
  else save(token)
  const id = deriveId('tok', 'token', 'admin')
  const answer = await createAdminToken(runtime, { id, hash, by: SERVICE_BY })
  if (answer.ok) log.info({ file }, 'the admin token was created')
  else log.warn({ refusal: answer.refusal }, 'the admin token could not be created')
}
