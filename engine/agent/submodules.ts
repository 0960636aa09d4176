/**
 * Repositories within the worktree, of which a commit holds no more than a commit of theirs: what it names has to be where others
 * find it, and what is nowhere else must not go with the worktree.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { GitFailed } from './git.ts'
import type { Run } from './run.ts'
import type { Worktree } from './worktree.ts'

/** The mode of such an entry. */
const MODE = '160000'

/** For a push: git looks whether what new commits name of submodules is on a remote of theirs. */
export const CHECKED = '--recurse-submodules=check'
export const UNCHECKED = '--recurse-submodules=no'

/** Whether a push was refused for that. */
export function isOfSubmodules({ message }: GitFailed): boolean {
  return message.includes('not be found on any remote')
}

interface Pinned {
  readonly path: string
  /** What the repository that it is in holds of it. */
  readonly commit: string
}

/** Those that differ between the two commits; `changes`: a `--diff-filter`. */
export function changedIn(worktree: Worktree, since: string, head: string, changes: string): Pinned[] {
  const shown = ['--raw', '-z', '--no-renames', '--no-abbrev', '--ignore-submodules=none', `--diff-filter=${changes}`]
  const entries = new RegExp(`(?<=^|\\0):\\d+ ${MODE} \\S+ (\\S+) \\w\\0([^\\0]+)`, 'g')
  const found = worktree.run('diff', ...shown, since, head).matchAll(entries)
  return [...found].map(([, commit, path]) => ({ commit: commit!, path: path! }))
}

/** Whether the worktree declares it, in `.gitmodules`. */
export function isDeclared(worktree: Worktree, path: string): boolean {
  return worktree.does('submodule', '--quiet', 'status', '--', path)
}

/** Whether one that the worktree has holds commits that would be gone with it; `from`: where the agent began. */
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

/** Whether a remote of that repository has what is named, so far as is known here; `but`: what need not be asked for. */
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

/** What no commit of the worktree can hold, as git's fault: changes within a submodule; undefined: nothing. */
export function unheldIn(worktree: Worktree): GitFailed | undefined {
  const entries = worktree.run('status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules=none').split('\0')
  const held = new RegExp(`^[1u] \\S\\S S.*? ${MODE} (?:[0-9a-f]{40,} )+(.*)$`, 's')
  const paths = entries.map((entry) => held.exec(entry)?.[1]).filter(Boolean)
  return paths.length === 0 ? undefined : new GitFailed(`changes in ${paths.join(', ')} are not committed there`)
}

/** Has it checked out; resolves to what git has against that, and leaves nothing half made. */
export async function populate({ worktree, report }: Run, path: string): Promise<GitFailed | undefined> {
  const fault = await worktree.overLine('submodule', '--quiet', 'update', '--init', '--', path)
  if (fault === undefined) return undefined
  const within = join(worktree.path, path)
  report.quietly(() => rmSync(within, { recursive: true, force: true }))
  report.quietly(() => mkdirSync(within, { recursive: true }))
  return fault
}
