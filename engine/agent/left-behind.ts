/**
 * What killed runs have left in the clone: each worktree whose process is gone is taken over by the next run, its work
 * is kept as that of any interrupted run, and the worktree is removed. Never one that a process still works in.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Clone } from './clone.ts'
import { isOutside } from './git.ts'
import { keep, pushBranch } from './keep.ts'
import { NO_CONFLICTS } from './merge.ts'
import { disown, isWorkedIn, leftIn, own, type Unsaved } from './owner.ts'
import type { Run, Tools } from './run.ts'
import { FOLDER, isForsaken, isUnbegun, takeDown, WITHIN, Worktree } from './worktree.ts'

/** A worktree that is now this process's. */
interface Left {
  readonly path: string
  readonly gitFolder: string
  readonly unsaved: Unsaved | undefined
}

/** Failures are only noted: the run itself may go on. */
export async function clearLeftBehind(tools: Tools & Pick<Run, 'shell'>): Promise<void> {
  const { clone, report, stop } = tools
  try {
    for (const left of await clone.withLock(() => takeOver(clone))) {
      if (stop.isMade) return
      await settle(tools, left)
    }
    clearFolders()
  } catch (error) {
    if (!isOutside(error)) throw error
    report.note(error.message)
  }
}

/** To be called with the clone's lock: of two runs only one takes a worktree over. */
function takeOver(clone: Clone): readonly Left[] {
  const all = join(resolve(clone.path, clone.run('rev-parse', '--git-common-dir')), 'worktrees')
  const taken: Left[] = []
  for (const name of existsSync(all) ? readdirSync(all) : []) {
    const gitFolder = join(all, name)
    const path = pathOf(gitFolder)
    if (path === undefined) continue
    const unsaved = isUnbegun(dirname(path)) ? undefined : leftIn(gitFolder)
    if (unsaved === null) continue
    // Moved by a person, it is theirs: what lies around it is not ours to remove.
    const isOurs = basename(path) === WITHIN && basename(dirname(path)).startsWith(FOLDER)
    if (!isOurs || (existsSync(path) && isWorkedIn(path))) continue
    own(gitFolder, unsaved)
    taken.push({ path, gitFolder, unsaved })
  }
  return taken
}

/** The path of the worktree; undefined if git has not noted it (yet). */
function pathOf(gitFolder: string): string | undefined {
  const link = join(gitFolder, 'gitdir')
  return existsSync(link) ? dirname(resolve(gitFolder, readFileSync(link, 'utf8').trimEnd())) : undefined
}

/** The branch of a run that is checked out in the worktree, if nothing is on it that no other ref has. */
function emptyBranchIn(clone: Clone, gitFolder: string): string | undefined {
  const head = join(gitFolder, 'HEAD')
  const [, ref, branch] =
    /^ref: (refs\/heads\/(intendant\/.+))$/m.exec(existsSync(head) ? readFileSync(head, 'utf8') : '') ?? []
  if (ref === undefined || clone.commitOf(ref) === undefined) return undefined
  const having = clone.run('for-each-ref', '--format=%(refname)', '--contains', ref).split('\n')
  return having.some((other) => other !== '' && other !== ref) ? branch : undefined
}

/** Removes the folders of runs that were killed before git had made a worktree there. A file of that name is no run's. */
function clearFolders(): void {
  const all = readdirSync(tmpdir(), { withFileTypes: true })
  for (const { name } of all.filter((entry) => entry.isDirectory() && entry.name.startsWith(FOLDER))) {
    const folder = join(tmpdir(), name)
    const isLeft = isForsaken(folder) || (isUnbegun(folder) && !existsSync(join(folder, WITHIN)))
    if (isLeft) rmSync(folder, { recursive: true, force: true })
  }
}

async function settle(tools: Tools & Pick<Run, 'shell'>, { path, gitFolder, unsaved }: Left): Promise<void> {
  const { clone, report, work } = tools
  if (unsaved?.isLanding === true) return await settleLanding(tools, path, unsaved)
  if (unsaved === undefined || !existsSync(path)) {
    const branch = unsaved === undefined ? emptyBranchIn(clone, gitFolder) : undefined
    const its = { ...tools, work: { ...work, isStep: false, branch: branch ?? work.branch } }
    return await takeDown(its, path, branch !== undefined)
  }
  const { branch, from } = unsaved
  try {
    const request_id = branch.replace(/^intendant\//, '').replace(/-\d+$/, '')
    const request = { ...work.request, request_id }
    const task = 'Work of a run that was killed'
    const its = { ...tools, work: { ...work, request, isStep: false, mayChange: true, branch, task, base: from } }
    const worktree = Worktree.found(its, path, gitFolder)
    const remains: Run['remains'] = { keptAt: undefined, mayGo: false, isBegun: true, aside: '' }
    const begun = { base: from, trunk: clone.trunk(), earlier: undefined, isContinued: false, since: from }
    const run = { ...its, ...begun, worktree, remains }
    await pushBranch(run, await keep(run, from, NO_CONFLICTS))
    const { keptAt, mayGo, aside } = remains
    report.note(
      `a run was killed: ${keptAt === undefined ? `${branch} has nothing new` : `its work is in ${keptAt}`}${aside}`,
    )
    if (mayGo) await worktree.takeDown(keptAt !== branch)
    else worktree.leave()
  } catch (error) {
    if (!isOutside(error)) throw error
    report.note(`a run was killed: ${error.message}; the work is in ${path}`)
    disown(gitFolder)
  }
}

/** Says whether the push that the kill interrupted has reached trunk. The next attempt finds it: see `earlier.ts`. */
async function settleLanding(tools: Tools, path: string, { branch, from: commit }: Unsaved): Promise<void> {
  const { settings, clone, report, work } = tools
  const { push, land } = settings
  const unfetched = land === undefined ? undefined : await clone.fetchTrunk()
  const trunk = land === undefined ? undefined : clone.trunk()
  const isOnTrunk = unfetched === undefined && trunk !== undefined && clone.isWithin(commit, trunk)
  const isPushed = push !== undefined && clone.commitOf(`${push}/${branch}`) === commit
  const where = isOnTrunk ? `on ${land}` : `in ${isPushed ? `${push}/${branch}` : branch}`
  report.note(`a run was killed while it landed: its work is ${where} (${commit})`)
  await takeDown({ ...tools, work: { ...work, isStep: false, branch } }, path, isOnTrunk || isPushed)
}
