/**
 * Where a run works: a git worktree in a folder of its own. Only the run's branch, if kept, remains in the clone. After
 * a command of the agent or the gate, the worktree is checked before git is used in it again.
 */
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { POLL_MS } from './clone-lock.ts'
import { GitFailed, gitFailureOf, NO_HOOKS } from './git.ts'
import { holderOf, isGone, isLinked, SELF } from './holder.ts'
import { disown, own, type Unsaved, whereProcessesAre } from './owner.ts'
import { Refused } from './refused.ts'
import type { Tools } from './run.ts'

/** How the name of a run's folder begins, and the name of its worktree in it. */
export const FOLDER = 'intendant-'
export const WITHIN = 'work'
/**
 * In a run's folder until its worktree is known to be its own: a link that names the process (`holder.ts`), and where its
 * id means something, since containers may share both the folder and the name of their host.
 */
const BEGINS = 'begins'
/** How long a background process left by a command may still hold a lock in the worktree, in milliseconds. */
const LOCK_MS = 1_000
/** The folder of a living run is empty for less than this, in milliseconds. */
const EMPTY_MS_MAX = 3_600_000
const GONE = "the worktree's .git was removed"

export class Worktree {
  readonly path: string
  /** Git's folder for this worktree, absolute. */
  readonly gitFolder: string
  readonly #tools: Tools
  /** The content of its `.git` file, which names that folder. */
  readonly #link: string | number | undefined

  private constructor(tools: Tools, path: string) {
    this.path = path
    this.#tools = tools
    this.#link = contentOf(join(path, '.git'))
    this.gitFolder = gitFolderOf(tools, path)
  }

  /**
   * Creates a worktree at that commit, on the run's branch. Throws Refused (`no_folder`, `no_worktree`), and then
   * leaves nothing behind.
   */
  static async add(tools: Tools, base: string): Promise<Worktree> {
    const { settings, work, git, clone } = tools
    needed(() => mkdirSync(settings.transcripts, { recursive: true, mode: 0o700 }))
    const as = work.isStep ? ['--detach'] : ['-b', work.branch]
    const add = ['worktree', 'add', '--quiet', '--no-checkout', ...as]
    // Done in turn, since git commands that list all worktrees fail at a half-created one. The checkout takes longer,
    // but concerns nobody else.
    const { folder, path, notAdded } = await clone.withLock(() => {
      const folder = needed(() => newFolder(tools))
      const path = join(folder, WITHIN)
      const notAdded = gitFailureOf(() => {
        clone.run(...add, path, base)
        tools.report.quietly(() => own(gitFolderOf(tools, path), undefined))
        needed(() => rmSync(join(folder, BEGINS), { force: true }))
      })
      return { folder, path, notAdded }
    })
    // A filter (LFS) may fetch the files.
    const fault = notAdded ?? (await git.overNetwork(path, [...NO_HOOKS, 'checkout', '--quiet', '--force']))
    if (fault === undefined) return new Worktree(tools, path)
    if (notAdded !== undefined) rmSync(folder, { recursive: true })
    else await takeDown(tools, path, true)
    throw new Refused('no_worktree', `cannot make a worktree of ${clone.path} for ${work.branch}: ${fault.message}`)
  }

  /**
   * The worktree of that folder of git's, which a killed run has left, with its branch in `tools`. Throws GitFailed if
   * it is no longer one.
   */
  static found(tools: Tools, path: string, gitFolder: string): Worktree {
    if (gitFolderOf(tools, path) !== realpathSync(gitFolder)) throw new GitFailed(GONE)
    return new Worktree(tools, path)
  }

  /** Runs git in the worktree; returns its output. Throws as `Git.run` does. */
  run(...args: string[]): string {
    return this.#tools.git.run(this.path, args)
  }

  /** Whether git exits with 0 in the worktree. */
  does(...args: string[]): boolean {
    return this.#tools.git.does(this.path, args)
  }

  /** NUL-separated output of git in the worktree. */
  list(...args: string[]): string[] {
    return this.#tools.git.list(this.path, args)
  }

  /** Runs git over the network in the worktree; resolves to its error, if any. */
  overNetwork(...args: string[]): Promise<GitFailed | undefined> {
    return this.#tools.git.overNetwork(this.path, args)
  }

  /** The checked-out commit. Throws GitFailed if there is none. */
  head(): string {
    return this.run('rev-parse', 'HEAD')
  }

  checkout(commit: string): void {
    this.run('checkout', '--quiet', '--force', '--detach', commit)
  }

  isThere(): boolean {
    return existsSync(this.path)
  }

  /**
   * Called after a command has run in the worktree, before git is used there. Removes the locks of killed git
   * processes: the worktree and branch belong to this run alone and its command has ended; processes that it left in
   * the background first get time to finish. Throws GitFailed if this is no longer a worktree, since git would then
   * work in whatever repository lies above it.
   */
  async regain(): Promise<void> {
    if (contentOf(join(this.path, '.git')) !== this.#link || !existsSync(this.gitFolder)) throw new GitFailed(GONE)
    const since = Date.now()
    while (this.#locks().length > 0 && Date.now() - since < LOCK_MS) await pause(POLL_MS)
    for (const lock of this.#locks()) rmSync(lock, { force: true })
  }

  /** Removes what a gate left behind, so that it ends up in no commit. */
  sweep(): void {
    this.run('reset', '--quiet', '--hard')
    this.run('clean', '--quiet', '-d', '--force')
  }

  /** Notes what is to be kept if this process is killed; undefined: nothing, or a branch holds it. */
  holds(unsaved: Unsaved | undefined): void {
    this.#tools.report.quietly(() => own(this.gitFolder, unsaved))
  }

  /** Leaves the worktree to people, and says so. */
  leave(): void {
    const { report } = this.#tools
    report.note(`the work is in ${this.path}`)
    report.quietly(() => disown(this.gitFolder))
  }

  /** Removes the worktree and, if asked, its branch in the clone. Failures are only noted. */
  async takeDown(isWithBranch: boolean): Promise<void> {
    await takeDown(this.#tools, this.path, isWithBranch)
  }

  /** Lock files of the worktree and of its branch. */
  #locks(): string[] {
    const own = readdirSync(this.gitFolder).filter((name) => name.endsWith('.lock'))
    const ofBranch = resolve(this.gitFolder, '../../refs/heads', `${this.#tools.work.branch}.lock`)
    return [...own.map((name) => join(this.gitFolder, name)), ofBranch].filter((lock) => existsSync(lock))
  }
}

/** A folder for a run. Until it begins, whoever finds the folder can tell whether its process was killed. */
function newFolder({ report }: Tools): string {
  const folder = mkdtempSync(join(tmpdir(), FOLDER))
  report.quietly(() => isLinked(join(folder, BEGINS), `${SELF} ${whereProcessesAre() ?? ''}`))
  return folder
}

/** Whether the folder is that of a run of this user which was killed before its agent began: nothing in it is needed. */
export function isUnbegun(folder: string): boolean {
  const link = join(folder, BEGINS)
  const [, holder, where] = /^(\S+) (.*)$/.exec(holderOf(link) ?? '') ?? []
  const { uid } = lstatSync(link, { throwIfNoEntry: false }) ?? {}
  const isOfHere = uid === process.geteuid!() && where === (whereProcessesAre() ?? '')
  return isOfHere && holder !== undefined && isGone(holder)
}

/** Whether the folder is one that a run of this user was killed in the very moment of making: nothing is in it. */
export function isForsaken(folder: string): boolean {
  const { uid, mtimeMs = Number.POSITIVE_INFINITY } = lstatSync(folder, { throwIfNoEntry: false }) ?? {}
  const isOld = uid === process.geteuid!() && Date.now() - mtimeMs > EMPTY_MS_MAX
  return isOld && readdirSync(folder).length === 0
}

/** Creates something that the run cannot begin without. */
function needed<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new Refused('no_folder', (error as Error).message)
  }
}

/** Git's folder for the worktree, absolute and without symbolic links. Throws as `Git.run` does. */
function gitFolderOf({ git }: Tools, path: string): string {
  return git.run(path, ['rev-parse', '--absolute-git-dir'])
}

export async function takeDown({ work, clone, report }: Tools, path: string, isWithBranch: boolean): Promise<void> {
  report.quietly(() => rmSync(resolve(path, '..'), { recursive: true, force: true }))
  await clone.withLock(() => {
    report.quietly(() => clone.run('worktree', 'remove', '--force', '--force', path))
    if (!work.isStep && isWithBranch) report.quietly(() => clone.run('branch', '--quiet', '-D', work.branch))
  })
}

/**
 * A file's content, one character per byte; for anything but a file, its change time. Undefined if nothing is there.
 */
export function contentOf(path: string): string | number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? readFileSync(path, 'latin1') : found?.ctimeMs
}
