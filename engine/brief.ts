/**
 * Writes a run's compiled brief and its prompts to files for the run's command, which has no token to fetch them. The
 * digests are computed again here, so that the files are exactly what the run's digest names, even if the service or a
 * proxy should alter them.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digestOf } from '../machines/digest.ts'
import type { Client } from './client.ts'
import { describeError, ServiceRefused } from './errors.ts'
import { isObject } from './execution-request.ts'
import { type Failure, MESSAGE_CHARS_MAX } from './result.ts'
import { type Backoff, mayHelpInTime, retrying } from './retry.ts'

interface BriefReference {
  readonly id: string
  readonly digest: string
}

interface BriefOptions {
  readonly client: Client
  readonly signal: AbortSignal
  readonly backoff: Backoff
}

export interface BriefFiles {
  /** File with the compiled brief as JSON. */
  readonly brief: string
  /** Folder with a file for each phase, such as `execution.md`. */
  readonly prompts: string
  remove(): Promise<void>
}

/** The service's brief is not the one that the run was made for. */
export class BriefMismatch extends Error {
  override readonly name = 'BriefMismatch'
}

/**
 * Fetches the brief, retrying while the service is away. Throws BriefMismatch, ServiceRefused or a file system error,
 * and then leaves nothing behind.
 */
export async function fetchBrief(brief: BriefReference, options: BriefOptions): Promise<BriefFiles> {
  const compiled = await readCompiled(brief, options)
  const prompts = promptsOf(brief, compiled)
  const folder = await mkdtemp(join(tmpdir(), 'intendant-brief-'))
  const files = { brief: join(folder, 'brief.json'), prompts: join(folder, 'prompts') }
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await writeFile(files.brief, JSON.stringify(compiled), { mode: 0o600 })
    await mkdir(files.prompts, { mode: 0o700 })
    for (const [phase, text] of prompts) await writeFile(join(files.prompts, `${phase}.md`), text, { mode: 0o600 })
  } catch (error) {
    await remove().catch(() => {})
    throw error
  }
  return { ...files, remove }
}

/** The run's failure for an error thrown by `fetchBrief`. */
export function briefFailure(error: unknown): Failure {
  if (error instanceof BriefMismatch) {
    return { class: 'safety', code: 'brief_digest_mismatch', message: error.message }
  }
  const message = `the brief could not be written to disk: ${describeError(error)}`
  return { class: 'execution', code: 'brief_not_laid_down', message: message.slice(0, MESSAGE_CHARS_MAX) }
}

async function readCompiled({ id, digest }: BriefReference, options: BriefOptions): Promise<Record<string, any>> {
  const { client, signal, backoff } = options
  const path = `/api/formation-briefs/${encodeURIComponent(id)}/compiled`
  try {
    const get = () => client.request('GET', path, { query: { digest }, signal })
    const { body } = await retrying(get, { signal, backoff, mayHelp: mayHelpInTime })
    return isObject(body) ? body : {}
  } catch (error) {
    if (!(error instanceof ServiceRefused) || error.problem.status !== 404) throw error
    throw new BriefMismatch(`the service has no brief ${id} compiled with digest ${digest}`)
  }
}

type Prompts = readonly (readonly [phase: string, text: string])[]

/** The prompts by phase, after checking that brief and prompts match the digest. */
function promptsOf({ id, digest }: BriefReference, { snapshot, prompt_pack: pack }: Record<string, any>): Prompts {
  const found = digestIfAny(snapshot)
  if (found !== digest) throw new BriefMismatch(`the service’s copy of brief ${id} has digest ${found}, not ${digest}`)
  const { digest: _, ...content } = isObject(pack) ? pack : {}
  const agreed = snapshot.prompt_pack?.digest
  const foundPack = digestIfAny(content)
  if (foundPack !== agreed)
    throw new BriefMismatch(`the prompts of brief ${id} have digest ${foundPack}, not ${agreed}`)
  const prompts = Array.isArray(content.prompts) ? content.prompts : []
  return prompts.map(({ phase, prompt_text: text }) => {
    // The phase becomes a file name.
    if (typeof phase === 'string' && /^[a-z][a-z_]{0,63}$/.test(phase) && typeof text === 'string') return [phase, text]
    throw new BriefMismatch(`brief ${id} has a prompt that this runner cannot write to disk`)
  })
}

function digestIfAny(value: unknown): string {
  try {
    return isObject(value) ? digestOf(value) : 'missing'
  } catch {
    return 'not canonical JSON'
  }
}
