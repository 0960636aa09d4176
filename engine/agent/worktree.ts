/**
 * Where a run works: a worktree of its own in a folder of its own. Nothing of the run stays in the clone but its branch, where that is
 * kept, and what an agent or a gate did to the worktree is seen before git is asked there again.
 */
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { faultOf, GitFailed, NO_HOOKS } from './git.ts'
import { Refused } from './refused.ts'
import type { Tools } from './run.ts'
import { LOOK_MS } from './turnstile.ts'

/** How long what a command left running in the background may still hold a lock of the worktree, milliseconds. */
const LOCK_MS = 1_000

export class Worktree {
  readonly path: string
  /** The folder of git's for this worktree, absolute. */
  readonly gitFolder: string
  readonly #tools: Tools
  /** What its `.git` says, which names that folder. */
  readonly #link: string | number | undefined

  private constructor(tools: Tools, path: string) {
    this.path = path
    this.#tools = tools
    this.#link = contentOf(join(path, '.git'))
    this.gitFolder = this.run('rev-parse', '--absolute-git-dir')
  }

  /** Makes one at that commit, on the branch of the run. Throws Refused (`no_folder`, `no_worktree`), and leaves nothing then. */
  static async add(tools: Tools, base: string): Promise<Worktree> {
    const { settings, work, git, clone } = tools
    needed(() => mkdirSync(settings.transcripts, { recursive: true, mode: 0o700 }))
    const folder = needed(() => mkdtempSync(join(tmpdir(), 'intendant-')))
    const path = join(folder, 'work')
    const as = work.isStep ? ['--detach'] : ['-b', work.branch]
    const add = ['worktree', 'add', '--quiet', '--no-checkout', ...as, path, base]
    // Who looks at all worktrees of a clone fails at one that is half made. Files take longer, and are nobody else's.
    const notAdded = await clone.inTurn(() => faultOf(() => clone.run(...add)))
    // A filter (LFS) may fetch them.
    const fault = notAdded ?? (await git.overLine(path, [...NO_HOOKS, 'checkout', '--quiet', '--force']))
    if (fault === undefined) return new Worktree(tools, path)
    if (notAdded !== undefined) rmSync(folder, { recursive: true })
    else await takeDown(tools, path, true)
    throw new Refused('no_worktree', `${clone.path} gives no worktree for ${work.branch}: ${fault.message}`)
  }

  /** What git prints there. Throws as `Git.run`. */
  run(...args: string[]): string {
    return this.#tools.git.run(this.path, args)
  }

  /** Whether git says so there. */
  does(...args: string[]): boolean {
    return this.#tools.git.does(this.path, args)
  }

  /** What git prints there between NULs. */
  list(...args: string[]): string[] {
    return this.#tools.git.list(this.path, args)
  }

  /** Runs git over a line there; resolves to what it has against it. */
  overLine(...args: string[]): Promise<GitFailed | undefined> {
    return this.#tools.git.overLine(this.path, args)
  }

  /** The commit that is checked out. Throws GitFailed where there is none. */
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
   * Behind a command that ran in the worktree: git can go on there. Locks that a git left that was killed are removed: the worktree
   * and its branch are this run's alone, and its command is over; what that left in the background has its time to let go. Throws
   * GitFailed where it is no worktree any more: git would do its work in whatever repository there is above it.
   */
  async regain(): Promise<void> {
    if (contentOf(join(this.path, '.git')) !== this.#link || !existsSync(this.gitFolder))
      throw new GitFailed("the worktree's .git was taken away")
    const since = Date.now()
    while (this.#locks().length > 0 && Date.now() - since < LOCK_MS) await pause(LOOK_MS)
    for (const lock of this.#locks()) rmSync(lock, { force: true })
  }

  /** Clears away what a gate left behind: it is in nobody's way, and in no commit. */
  sweep(): void {
    this.run('reset', '--quiet', '--hard')
    this.run('clean', '--quiet', '-d', '--force')
  }

  /** Removes it, and where that is said its branch from the clone. What cannot be removed is noted. */
  async takeDown(isWithBranch: boolean): Promise<void> {
    await takeDown(this.#tools, this.path, isWithBranch)
  }

  /** What is locked in it, or its branch. */
  #locks(): string[] {
    const own = readdirSync(this.gitFolder).filter((name) => name.endsWith('.lock'))
    const ofBranch = resolve(this.gitFolder, '../../refs/heads', `${this.#tools.work.branch}.lock`)
    return [...own.map((name) => join(this.gitFolder, name)), ofBranch].filter((lock) => existsSync(lock))
  }
}

/** What the run cannot begin without. */
function needed<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new Refused('no_folder', (error as Error).message)
  }
}

async function takeDown({ work, clone, report }: Tools, path: string, isWithBranch: boolean): Promise<void> {
  report.quietly(() => rmSync(resolve(path, '..'), { recursive: true, force: true }))
  await clone.inTurn(() => {
    report.quietly(() => clone.run('worktree', 'remove', '--force', '--force', path))
    if (!work.isStep && isWithBranch) report.quietly(() => clone.run('branch', '--quiet', '-D', work.branch))
  })
}

/** What a file holds, a character a byte; of what is no file, when it was changed. Undefined: there is nothing. */
export function contentOf(path: string): string | number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? readFileSync(path, 'latin1') : found?.ctimeMs
}
