/**
 * Lands work on trunk: pushes, but never overwrites. If trunk has moved on, it is merged in and the gate runs again; if
 * it was renamed or rewritten, nothing is pushed to it.
 */
import { Claim } from './claim.ts'
import { TURN_MS } from './clone-lock.ts'
import { commitName } from './commit.ts'
import { namedIn } from './earlier.ts'
import { unpushedFault } from './fault.ts'
import { gateFault } from './gate.ts'
import type { GitFailed } from './git.ts'
import { merge } from './merge.ts'
import type { TaskResult } from './outcome.ts'
import type { Run } from './run.ts'
import { CHECKED, isOfSubmodules } from './submodules.ts'
import { Wait } from './wait.ts'

/**
 * How often the work is merged with a trunk that keeps moving. Other runs stop moving it after the second time at most
 * (`claim.ts`).
 */
const MERGES_MAX = 4
/** How long the gate may take while its work has its turn, as a multiple of the time that it took before. */
const GATE_TIMES = 4
/** Commits of others that are reported. */
const ARRIVALS_MAX = 100

/** The result: `landed`, the reason why not, or neither if the run ended first. */
type LandingResult = Partial<TaskResult> & {
  /** The newest commit of the work, including what was merged in from trunk. */
  readonly head: string
}

interface Turn {
  /** The newest commit of trunk that the run knew when it began. */
  readonly trunk: string
  readonly claim: Claim
  readonly wait: Wait
  /** Whether the run is stopped, or its runner is gone. */
  readonly isOver: () => boolean
}

/**
 * Lands a commit that has passed the gate, which took `gateMs`. Runs of the same clone take turns, so that what one has
 * merged and checked is not out of date before it can push. Resolves to the result. Throws GitFailed if git fails.
 */
export async function land(run: Run, commit: string, gateMs: number): Promise<LandingResult> {
  const { clone, settings, base, trunk, stop, parent } = run
  // Work based on another branch is brought to trunk by whoever knows what it is for.
  const isOnTrunk = [trunk, clone.trunk()].some((one) => one !== undefined && clone.isWithin(base, one))
  if (trunk === undefined || !(run.isContinued || isOnTrunk))
    return { head: commit, land_blocked: 'checkout_not_ready' }
  const isOver = (): boolean => stop.isMade || parent.isGone
  const moreMs = GATE_TIMES * gateMs
  const claim = new Claim(run, TURN_MS + moreMs)
  const wait = new Wait(run, gateMs)
  run.report.note(`landing on ${settings.land}, once it is this run's turn`)
  const turn = {
    moreMs,
    isOver: () => isOver() || wait.isTooLong,
    onWait: (others: number) => wait.behind(others),
  }
  return await clone.withTrunk(turn, async (isHeld) => {
    wait.end()
    if (!isHeld && wait.isTooLong && !isOver()) return { head: commit, ...tooLate(run, wait) }
    try {
      return await landInTurn(run, commit, { trunk, claim, wait, isOver })
    } finally {
      await claim.drop()
    }
  })
}

function tooLate(run: Run, { limit }: Wait): Partial<TaskResult> {
  return blockedBy(run, 'checkout_not_ready', `its turn to land did not come ${limit}`)
}

async function landInTurn(run: Run, commit: string, { trunk, claim, wait, isOver }: Turn): Promise<LandingResult> {
  const { clone, worktree, settings, stop } = run
  let head = commit
  let arrivals: TaskResult['trunk_arrivals']
  /** The newest commit of trunk that the work is known to build on. */
  let seen = trunk
  let refused: { readonly at: string; readonly fault: GitFailed } | undefined
  const end = (said: Partial<TaskResult>): LandingResult => ({
    head,
    ...(arrivals === undefined ? {} : { trunk_arrivals: arrivals }),
    ...said,
  })
  for (let merges = 0; ; ) {
    if (isOver()) return end({})
    const unfetched = await clone.fetchTrunk()
    if (isOver()) return end({})
    if (unfetched !== undefined) return end(blockedBy(run, 'git_failed', unfetched.message))
    const moved = clone.trunk()
    // Trunk was renamed, or commits were removed from it, which a push would restore.
    if (moved === undefined)
      return end(blockedBy(run, 'checkout_not_ready', `${settings.land} is gone from ${settings.push}`))
    if (!clone.isWithin(seen, moved)) {
      const why = `${settings.land} was rewritten and no longer contains the commit this work began at`
      return end(blockedBy(run, 'checkout_not_ready', why))
    }
    // Also the case if the remote accepted a push whose answer was lost.
    if (clone.isWithin(head, moved)) return end({ landed: true })
    // The push of an earlier attempt, which goes on although its run was killed.
    const earlier = namedIn(run, `${trunk}..${moved}`)
    if (earlier !== undefined) {
      run.remains.aside += ` (an earlier attempt has landed meanwhile; what this one did is in ${run.remains.keptAt})`
      return { ...end({ landed: true }), head: earlier }
    }
    if (await wait.during(() => claim.isAnothers())) {
      if (wait.isTooLong && !isOver()) return end(tooLate(run, wait))
      continue
    }
    if (clone.isWithin(moved, head)) {
      if (moved === refused?.at) return end(blockedBy(run, 'git_failed', refused.fault.message))
      if (namedIn(run, `${moved}..${head}`) === undefined) head = commitName(run, head)
      const fault = await pushToTrunk(run, head, moved)
      if (fault === undefined) return end({ landed: true })
      if (stop.isMade) {
        run.report.note(`stopped during the push to ${settings.land}, which may have succeeded: ${head}`)
        return end({})
      }
      if (isOfSubmodules(fault)) return end({ verdict: 'defect', ...unpushedFault(run, fault.message) })
      refused = { at: moved, fault }
      continue
    }
    arrivals ??= arrivalsOf(run, commit, moved)
    if (merges === MERGES_MAX) return end({ land_blocked: 'trunk_moved_repeatedly' })
    if (merges > 0 && (await claim.make())) continue
    merges += 1
    worktree.checkout(head)
    worktree.sweep()
    const { fault, conflicts } = merge(run, moved)
    if (conflicts.size > 0) return end({ land_blocked: 'trunk_moved_conflict' })
    if (fault !== undefined) return end(blockedBy(run, 'git_failed', fault.message))
    if ((await gateFault(run)) !== undefined) return end({ land_blocked: 'trunk_moved_gates_failed' })
    head = worktree.head()
    seen = moved
  }
}

/** A reason for which the event has no field goes into the summary. */
export function blockedBy(
  { remains }: Run,
  land_blocked: NonNullable<TaskResult['land_blocked']>,
  why: string,
): Partial<TaskResult> {
  remains.aside += ` (${why})`
  return { land_blocked }
}

/**
 * The lease requires trunk to be exactly where it was seen, not only an ancestor of `head`, so that a trunk renamed
 * meanwhile is not recreated. A push that names a submodule commit which nobody else could check out is refused.
 */
function pushToTrunk({ settings, worktree }: Run, head: string, seen: string): Promise<GitFailed | undefined> {
  const ref = `refs/heads/${settings.land}`
  const lease = `--force-with-lease=${ref}:${seen}`
  return worktree.overNetwork('push', '--quiet', CHECKED, lease, settings.push!, `${head}:${ref}`)
}

/** Commits of trunk that the work does not have, oldest first. */
function arrivalsOf({ worktree }: Run, head: string, moved: string): TaskResult['trunk_arrivals'] {
  const told = worktree.run('log', '--reverse', `--max-count=${ARRIVALS_MAX}`, '--format=%H %s', `${head}..${moved}`)
  return told.split('\n').map((line) => ({ commit: line.split(' ')[0]!, subject: line.slice(line.indexOf(' ') + 1) }))
}
