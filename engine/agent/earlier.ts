/**
 * What earlier attempts of the same request have already brought to trunk. Trunk itself says so, because whatever lands
 * has a commit that names its request: an attempt that was killed, or whose runner was, may have landed without anybody
 * having heard of it, and the next one may be in another clone.
 */
import { branchOf } from './branch.ts'
import { Refused } from './refused.ts'
import type { Run, Tools } from './run.ts'
import type { Work } from './work.ts'

/** The line of a commit's message that names the request it was made for. */
export function requestLine({ request }: Work): string {
  return `Intendant-Request: ${request.request_id}`
}

/** The newest of these commits (gitrevisions(7)) that names the request. Throws as `Git.run` does. */
export function namedIn({ work, clone }: Pick<Tools, 'work' | 'clone'>, commits: string): string | undefined {
  return clone.run('rev-list', '--max-count=1', `--grep=^${requestLine(work)}$`, commits) || undefined
}

/**
 * The commit of trunk as which an earlier attempt has landed; undefined if none has, or nothing is landed. Throws
 * Refused (`fetch_failed`) if the clone is shallow and the rest of trunk cannot be fetched.
 */
export async function landedEarlier(tools: Tools, trunk: string | undefined): Promise<string | undefined> {
  const { settings, work, clone, stop } = tools
  if (settings.land === undefined || trunk === undefined || !work.mayChange || work.request.attempt === 1)
    return undefined
  const unfetched = clone.isShallow() ? await clone.fetch('--unshallow', settings.push!) : undefined
  if (stop.isMade) return undefined
  if (unfetched !== undefined) throw new Refused('fetch_failed', unfetched.message)
  return namedIn(tools, trunk)
}

/** Branches of earlier attempts that the remote still has although they are on trunk. */
export async function landedBranches({ settings, work, clone, trunk }: Run): Promise<string[]> {
  const { request_id, attempt } = work.request
  const landed: string[] = []
  for (let earlier = 1; earlier < attempt; earlier++) {
    const branch = branchOf(request_id, earlier)
    if ((await clone.fetchBranch(branch)) !== undefined) continue
    if (clone.isWithin(`refs/remotes/${settings.push}/${branch}`, trunk!)) landed.push(branch)
  }
  return landed
}
