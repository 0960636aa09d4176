/**
 * The formation brief of a run, laid down where its command can read it: the command has no token to fetch it
 * with. A brief that is not exactly the one that was agreed upon is never handed on.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from './client.ts'
import { type Backoff, retrying } from './retry.ts'

interface BriefReference {
  readonly id: string
  readonly digest: string
}

interface BriefOptions {
  readonly client: Client
  readonly signal: AbortSignal
  readonly backoff: Backoff
}

export interface BriefFile {
  /** A file with the brief as JSON. */
  readonly path: string
  remove(): Promise<void>
}

/** The service holds another version of the brief than the run was made for. */
export class BriefMismatch extends Error {
  override readonly name = 'BriefMismatch'
}

/** Fetches the brief, retrying while the service is away. Throws BriefMismatch, or ServiceRefused. */
export async function fetchBrief(brief: BriefReference, options: BriefOptions): Promise<BriefFile> {
  const { client, signal, backoff } = options
  const path = `/api/formation-briefs/${encodeURIComponent(brief.id)}`
  const { body } = await retrying(() => client.request('GET', path, { signal }), { signal, backoff })
  if (body?.digest !== brief.digest) {
    throw new BriefMismatch(`brief ${brief.id} is ${body?.digest} by now; the run was made for ${brief.digest}`)
  }
  const folder = await mkdtemp(join(tmpdir(), 'intendant-brief-'))
  const file = join(folder, 'brief.json')
  await writeFile(file, JSON.stringify(body), { mode: 0o600 })
  return { path: file, remove: () => rm(folder, { recursive: true, force: true }) }
}
