/**
 * What is done with a log once it is restored (its lasting effects: restored-log.ts). The original service went on
 * after the backup was taken: runners may hold attempts that this log does not know, so every unsettled request is
 * fenced with a higher attempt, and whoever was revoked since then is a principal again.
 */

import { deriveId } from '../../machines/ids.ts'
import type { By } from '../../machines/machine.ts'
import type { RunRequestBody } from '../../machines/run-request/context.ts'
import { isSettledRun } from '../../machines/run-request/states.ts'
import { turn } from '../../storage/platform.ts'
import { createAdminToken } from '../access/admin-token.ts'
import { isExpired } from '../access/principals.ts'
import { newSecret } from '../access/secrets.ts'
import { allOfKind } from '../all-of-kind.ts'
import type { Runtime } from '../api.ts'
import { restoredMark } from '../restored-log.ts'

/** The principal that restores. */
export function restorer(origin: string): By {
  return { id: 'restore', name: 'intendant restore', origin }
}

interface Restored {
  /** Number of unsettled requests whose attempt was raised. */
  readonly fenced: number
  /** Ids of those that are `lost` now: a person must say what became of the work. */
  readonly lost: readonly string[]
  /** Requests that could not be fenced, with the reason. If there are any, the home must not be served. */
  readonly unfenced: readonly { readonly id: string; readonly reason: string }[]
  /** Tokens and runners that are valid in the restored home. */
  readonly credentials: readonly { readonly kind: 'token' | 'runner'; readonly id: string; readonly name: string }[]
}

/** Turns in which the messages under way when the backup was taken are delivered, one leading to another. */
const TURNS_WAITED = 100

/** Requests fenced at once, so that they share a flush; one by one each would wait for its own. */
const FENCED_AT_ONCE = 500

/** Fences every unsettled run request with the message `restored`: its attempt is raised, begun work becomes `lost`. */
export async function fenceRestored(runtime: Runtime, by: By): Promise<Restored> {
  // Some of them create run requests, which a runner of the original service may hold, too.
  for (let waited = 0; waited < TURNS_WAITED; waited++) await turn(runtime.platform)
  const lost: string[] = []
  const unfenced: { id: string; reason: string }[] = []
  let fenced = 0
  const ids = await unsettled(runtime)
  const message: RunRequestBody = { type: 'restored', by }
  const fence = (id: string) => runtime.askAsync({ kind: 'run_request', id }, message)
  for (let first = 0; first < ids.length; first += FENCED_AT_ONCE) {
    const some = ids.slice(first, first + FENCED_AT_ONCE)
    const answers = await Promise.all(some.map(fence))
    for (const [at, answer] of answers.entries()) {
      const id = some[at]!
      // A message that was under way may have settled it meanwhile.
      if (!answer.ok && isSettledRun(runtime.read({ kind: 'run_request', id })?.value ?? '')) continue
      if (!answer.ok) unfenced.push({ id, reason: answer.refusal.detail })
      else {
        fenced += 1
        if (answer.snapshot.value === 'lost') lost.push(id)
      }
    }
  }
  return { fenced, lost, unfenced, credentials: await credentials(runtime) }
}

/** Marks the log as restored, with the step that makes a new admin token: the old one's file may be lost. */
export async function makeAdminToken(runtime: Runtime, by: By): Promise<string> {
  const { token, hash } = newSecret()
  const id = deriveId('tok', 'token', 'admin', runtime.journal.epoch)
  const answer = await createAdminToken(runtime, { id, hash, by, reservation: restoredMark(runtime.journal.epoch) })
  if (!answer.ok) throw new Error(`the admin token could not be created: ${answer.refusal.detail}`)
  return token
}

async function unsettled(runtime: Runtime): Promise<string[]> {
  const ids: string[] = []
  for await (const { context, value } of allOfKind(runtime, 'run_request'))
    if (!isSettledRun(value)) ids.push(context.id)
  return ids
}

async function credentials(runtime: Runtime): Promise<Restored['credentials']> {
  const found: { kind: 'token' | 'runner'; id: string; name: string }[] = []
  for (const kind of ['token', 'runner'] as const) {
    for await (const { context, value } of allOfKind(runtime, kind)) {
      if (value === 'revoked' || value === 'removed' || isExpired(context, runtime.platform.wallMs())) continue
      found.push({ kind, id: context.id, name: context.name ?? context.id })
    }
  }
  return found
}
