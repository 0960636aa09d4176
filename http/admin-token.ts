/**
 * The first token: made when the service starts on a home that has none, written to `admin.token` for its owner
 * alone. The file is on disk, its name too, before the commit: killed between the two, the next start simply makes another.
 */

import { deriveId } from '../machines/ids.ts'
import { SERVICE_BY } from '../machines/machine.ts'
import { createAdminToken } from '../runtime/access/admin-token.ts'
import { newSecret } from '../runtime/access/secrets.ts'
import type { Runtime } from '../runtime/api.ts'
import type { Logger } from '../runtime/log.ts'
import { writeOwnerOnly } from '../storage/files/flush.ts'
import { adminTokenPath } from '../storage/home/home-paths.ts'

/** Does nothing where a token was ever made. Throws when it cannot be kept. `save`: other than in its file. */
export async function ensureAdminToken(runtime: Runtime, log: Logger, save?: (token: string) => void): Promise<void> {
  const { snapshots } = await runtime.list({ kind: 'token', index: 'all', value: '', limit: 1, waits: true })
  if (snapshots.length > 0) return
  const { token, hash } = newSecret()
  const file = adminTokenPath(runtime.settings.home)
  if (save === undefined) writeOwnerOnly(file, `${token}\n`)
  else save(token)
  const id = deriveId('tok', 'token', 'admin')
  const answer = await createAdminToken(runtime, { id, hash, by: SERVICE_BY })
  if (answer.ok) log.info({ file }, 'the admin token was made')
  else log.warn({ refusal: answer.refusal }, 'the admin token could not be made')
}
