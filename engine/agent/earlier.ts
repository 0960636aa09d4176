/**
 * What an earlier attempt of the same request has already brought to trunk: one that ended during its push could not
 * say so. A landing that was reported deletes its branch, so a branch that is still on the remote tells of the others.
 */
import { branchOf } from './branch.ts'
import type { Tools } from './run.ts'

export interface Earlier {
  readonly branch: string
  readonly commit: string
}

/** The newest earlier attempt whose branch is on trunk; undefined if there is none, or nothing is landed. */
export async function landedEarlier(
  { settings, work, clone }: Tools,
  trunk: string | undefined,
): Promise<Earlier | undefined> {
  const { push, land } = settings
  const { request_id, attempt } = work.request
  if (land === undefined || trunk === undefined || !work.mayChange) return undefined
  for (let earlier = attempt - 1; earlier >= 1; earlier--) {
    const branch = branchOf(request_id, earlier)
    if ((await clone.fetchBranch(branch)) !== undefined) continue
    const commit = clone.commitOf(`refs/remotes/${push}/${branch}`)
    if (commit !== undefined && clone.isWithin(commit, trunk)) return { branch, commit }
  }
  return undefined
}
