/** Finds the commit at which a run begins: the named base as it is on the remote now, or trunk. */
import { UNKNOWN_BASE } from '../../machines/run-request/failure.ts'
import { Refused } from './refused.ts'
import type { Tools } from './run.ts'

interface Start {
  readonly base: string
  readonly trunk: string | undefined
}

/**
 * Fetches what the run begins with. Throws Refused if trunk cannot be fetched (`fetch_failed`), the base has no commit
 * (`unknown_base`) or commits cannot be signed (`no_signature`). Resolves to undefined if the run was stopped.
 */
export async function findStart(tools: Tools): Promise<Start | undefined> {
  const { settings, work, clone, stop } = tools
  const { push, land } = settings
  if (push !== undefined) await fetchFirst(tools, push)
  if (stop.isMade) return undefined
  // Read once: the push of another run in the clone may move it on at any time, and then the base were not on trunk.
  const trunk = clone.trunk()
  const base =
    baseHere(tools, trunk) ??
    (push !== undefined && work.base !== undefined ? await fetchBase(tools, push, trunk) : undefined)
  if (stop.isMade) return undefined
  if (base === undefined) {
    const isTrunk = work.base === undefined && land !== undefined
    const message = isTrunk ? `${push} has no branch ${land}` : `${clone.path} has no commit ${work.base ?? 'HEAD'}`
    throw new Refused(UNKNOWN_BASE, message)
  }
  // A shallow clone may lack the merge base.
  if (push !== undefined && trunk !== undefined && !clone.does('merge-base', base, trunk))
    await clone.fetch('--unshallow', push)
  if (work.mayChange) await trySigning(tools, base)
  return stop.isMade ? undefined : { base, trunk }
}

/** Updates the clone from the remote. The run does not begin if trunk cannot be fetched. */
async function fetchFirst({ settings, work, clone, stop }: Tools, remote: string): Promise<void> {
  const { land } = settings
  const fault = land === undefined ? undefined : await clone.fetchTrunk()
  if (stop.isMade) return
  if (fault !== undefined) throw new Refused('fetch_failed', fault.message)
  await clone.fetch(remote)
  const isAll = clone.does('config', '--get', `remote.${remote}.fetch`, 'refs/heads/[*]:')
  const wanted = ofRemote(work.base, remote)
  if (wanted !== undefined && wanted !== land && !isAll && clone.isName(wanted)) await clone.fetchBranch(wanted)
}

/** The name without the remote's prefix. */
function ofRemote(name: string | undefined, remote: string): string | undefined {
  return name?.startsWith(`${remote}/`) ? name.slice(remote.length + 1) : name
}

/** The commit to begin at, if the clone has it. */
function baseHere({ settings: { push }, work: { base }, clone }: Tools, trunk: string | undefined): string | undefined {
  if (base === undefined) return trunk
  return (push === undefined ? undefined : clone.commitOf(`${push}/${base}`)) ?? clone.commitOf(base)
}

/** Fetches the base from the remote: a tag, a commit on no branch, or one beyond the end of a shallow clone. */
async function fetchBase(tools: Tools, remote: string, trunk: string | undefined): Promise<string | undefined> {
  const { work, clone } = tools
  const wanted = ofRemote(work.base, remote)!
  if (clone.isName(wanted)) {
    const found = await clone.withLock(async () => {
      const fault = await clone.fetchInTurn('--end-of-options', remote, wanted)
      return fault === undefined ? clone.commitOf('FETCH_HEAD') : undefined
    })
    if (found !== undefined) return found
  }
  if (clone.isShallow()) await clone.fetch('--unshallow', remote)
  return baseHere(tools, trunk)
}

/** Tries to sign if commits are signed: without a key the commit would only fail after the work is done. */
async function trySigning({ clone, stop }: Tools, base: string): Promise<void> {
  if (clone.run('config', '--type=bool', '--default=false', '--get', 'commit.gpgsign') !== 'true') return
  const fault = await clone.overNetwork(...clone.committer(), 'commit-tree', '-S', '-m', 'signed', `${base}^{tree}`)
  if (fault !== undefined && !stop.isMade)
    throw new Refused('no_signature', `commits are signed in ${clone.path} (commit.gpgsign), but ${fault.message}`)
}
