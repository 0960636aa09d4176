/**
 * Submodules of the worktree. A commit holds only the id of a submodule's commit, so that commit must be available to
 * others, and nothing that exists only in a submodule may be removed with the worktree.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { GitFailed } from './git.ts'
import type { Run } from './run.ts'
import type { Worktree } from './worktree.ts'

/** File mode of a submodule entry. */
const MODE = '160000'

/** Option for a push: git checks that the submodule commits named by new commits are on one of their remotes. */
export const CHECKED = '--recurse-submodules=check'
export const UNCHECKED = '--recurse-submodules=no'

/** Whether a push was refused because of that check. */
export function isOfSubmodules({ message }: GitFailed): boolean {
  return message.includes('not be found on any remote')
}

interface Pinned {
  readonly path: string
  /** The submodule commit that the parent repository names. */
  readonly commit: string
}

/** Submodules that differ between the two commits; `changes` is a `--diff-filter`. */
export function changedIn(worktree: Worktree, since: string, head: string, changes: string): Pinned[] {
  const shown = ['--raw', '-z', '--no-renames', '--no-abbrev', '--ignore-submodules=none', `--diff-filter=${changes}`]
  const entries = new RegExp(`(?<=^|\\0):\\d+ ${MODE} \\S+ (\\S+) \\w\\0([^\\0]+)`, 'g')
  const found = worktree.run('diff', ...shown, since, head).matchAll(entries)
  return [...found].map(([, commit, path]) => ({ commit: commit!, path: path! }))
}

/** Whether the worktree declares it in `.gitmodules`. */
export function isDeclared(worktree: Worktree, path: string): boolean {
  return worktree.does('submodule', '--quiet', 'status', '--', path)
}

/**
 * Whether a submodule holds commits that would be lost with the worktree. `from` is the commit at which the agent
 * began.
 */
export function areOnlyHere(run: Run, from: string): boolean {
  const entries = run.worktree.list('ls-files', '--stage', '-z').filter((entry) => entry.startsWith(`${MODE} `))
  return entries.some((entry) => isOnlyHere(run, entry.slice(entry.indexOf('\t') + 1), from))
}

function isOnlyHere(run: Run, path: string, from: string): boolean {
  const { git, worktree } = run
  if (!isPopulated(worktree, path)) return false
  const [, , pinned] = worktree.run('ls-tree', '-z', from, '--', path).split(/[ \t]/)
  const isKnown = pinned !== undefined && git.does(join(worktree.path, path), ['cat-file', '-e', `${pinned}^{commit}`])
  return !isElsewhere(run, path, ['HEAD', '--branches'], isKnown ? [pinned] : [])
}

export function isPopulated(worktree: Worktree, path: string): boolean {
  return existsSync(join(worktree.path, path, '.git'))
}

/**
 * Whether the submodule's remotes have the commits, as far as is known locally; commits of `but` need not be checked.
 */
export function isElsewhere(
  { git, worktree }: Run,
  path: string,
  commits: readonly string[],
  but: readonly string[] = [],
): boolean {
  const asked = ['rev-list', '--max-count=1', ...commits, '--not', '--remotes', ...but]
  try {
    return git.run(join(worktree.path, path), asked) === ''
  } catch {
    return false
  }
}

/**
 * Uncommitted changes within submodules, which no commit of the worktree can hold, as git's error; undefined if there
 * are none.
 */
export function unheldIn(worktree: Worktree): GitFailed | undefined {
  const entries = worktree.run('status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules=none').split('\0')
  const held = new RegExp(`^[1u] \\S\\S S.*? ${MODE} (?:[0-9a-f]{40,} )+(.*)$`, 's')
  const paths = entries.map((entry) => held.exec(entry)?.[1]).filter(Boolean)
  return paths.length === 0 ? undefined : new GitFailed(`changes in ${paths.join(', ')} are not committed there`)
}

/** Checks the submodule out. Resolves to git's error, if any, and then leaves nothing half done. */
export async function populate({ worktree, report }: Run, path: string): Promise<GitFailed | undefined> {
  const fault = await worktree.overNetwork('submodule', '--quiet', 'update', '--init', '--', path)
  if (fault === undefined) return undefined
  const within = join(worktree.path, path)
  report.quietly(() => rmSync(within, { recursive: true, force: true }))
  report.quietly(() => mkdirSync(within, { recursive: true }))
  return fault
}
