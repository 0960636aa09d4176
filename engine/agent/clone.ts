/** The clone that runs share (`REPOSITORY`): its commits, and how it is updated from its remote. */
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Turn, withCloneLock } from './clone-lock.ts'
import type { Git, GitFailed } from './git.ts'
import type { Report } from './report.ts'
import type { Settings } from './settings.ts'
import type { StopRequest } from './stop-request.ts'

/** How often a fetch is tried that meets others who update the same refs, and the pause between, in milliseconds. */
const FETCHES_MAX = 5
const PAUSE_MS = 200

interface CloneOptions {
  readonly git: Git
  readonly settings: Settings
  readonly report: Report
  readonly stop: StopRequest
}

/** How to wait for a turn, and how long it may take. */
type How = Omit<Turn, 'lock' | 'note'>

/** The branch by which a run claims trunk (`claim.ts`). */
export function claimOf(trunk: string): string {
  return `intendant/landing/${trunk}`
}

export class Clone {
  /** The clone's folder. */
  readonly path: string
  readonly #git: Git
  readonly #report: Report
  readonly #stop: StopRequest
  readonly #remote: string | undefined
  readonly #trunk: string | undefined
  /** Git's own folder, which all worktrees of the clone share; undefined until it was needed. */
  #folder: string | undefined

  constructor({ git, settings, report, stop }: CloneOptions) {
    this.path = settings.repository
    this.#git = git
    this.#report = report
    this.#stop = stop
    this.#remote = settings.push
    this.#trunk = settings.land
  }

  /** Runs git in the clone; returns its output. Throws as `Git.run` does. */
  run(...args: string[]): string {
    return this.#git.run(this.path, args)
  }

  /** Whether git exits with 0 in the clone. */
  does(...args: string[]): boolean {
    return this.#git.does(this.path, args)
  }

  /** The commit of that name, local or of a remote; undefined if there is none. */
  commitOf(name: string): string | undefined {
    for (const prefix of ['', 'refs/remotes/']) {
      try {
        return this.run('rev-parse', '--quiet', '--verify', '--end-of-options', `${prefix}${name}^{commit}`)
      } catch {}
    }
    return undefined
  }

  /** The newest commit of trunk as last fetched, or HEAD if nothing is landed; undefined if there is none. */
  trunk(): string | undefined {
    return this.commitOf(this.#trunk === undefined ? 'HEAD' : `${this.#remote}/${this.#trunk}`)
  }

  isWithin(commit: string, other: string): boolean {
    return this.does('merge-base', '--is-ancestor', commit, other)
  }

  /** Whether it lacks a part of the history. */
  isShallow(): boolean {
    return this.run('rev-parse', '--is-shallow-repository') === 'true'
  }

  /** Whether the name is a valid ref name, and cannot be taken for an option. */
  isName(name: string): boolean {
    return this.does('check-ref-format', '--allow-onelevel', name)
  }

  /** Options that name a committer, for when git's configuration names none. */
  committer(): string[] {
    if (this.does('config', 'user.email')) return []
    return ['-c', 'user.name=intendant', '-c', 'user.email=intendant@localhost']
  }

  /** Runs `act` while no other run does so in the same clone. */
  withLock<T>(act: () => T | Promise<T>): Promise<T> {
    return this.#inTurn('intendant.lock', { isOver: () => this.#stop.isOverdue }, act)
  }

  /** Runs `act` while no other run in the same clone lands on trunk; it is told whether it was given its turn. */
  withTrunk<T>(how: How, act: (isHeld: boolean) => T | Promise<T>): Promise<T> {
    return this.#inTurn(`intendant-${encodeURIComponent(this.#trunk!)}.lock`, how, act)
  }

  async #inTurn<T>(name: string, how: How, act: (isHeld: boolean) => T | Promise<T>): Promise<T> {
    try {
      this.#folder ??= this.run('rev-parse', '--git-common-dir')
    } catch {
      return await act(false)
    }
    const lock = resolve(this.path, this.#folder, name)
    return await withCloneLock({ ...how, lock, note: (why) => this.#report.note(why) }, act)
  }

  /** Runs git over the network in the clone; resolves to its error, if any. */
  overNetwork(...args: string[]): Promise<GitFailed | undefined> {
    return this.#git.overNetwork(this.path, args)
  }

  /** Fetches, one run at a time; resolves to git's error, if any. */
  fetch(...what: string[]): Promise<GitFailed | undefined> {
    return this.withLock(() => this.fetchInTurn(...what))
  }

  /**
   * The same for a caller that has the lock. A fetch fails if a push of another run, or an agent's or a person's own
   * git, updates one of its refs at the same time: then it is tried again.
   */
  async fetchInTurn(...what: string[]): Promise<GitFailed | undefined> {
    for (let tries = 1; ; tries++) {
      const fault = await this.overNetwork('fetch', '--quiet', ...what)
      const isMet = /cannot lock ref|\.lock': File exists/.test(fault?.message ?? '')
      if (!isMet || tries === FETCHES_MAX || this.#stop.isMade) return fault
      await pause(PAUSE_MS)
    }
  }

  /**
   * Fetches one branch by its name: a clone of a single branch (`--single-branch`, `--depth 1`) would not fetch others
   * otherwise.
   */
  fetchBranch(name: string): Promise<GitFailed | undefined> {
    return this.fetch(this.#remote!, this.#refOf(name))
  }

  #refOf(name: string): string {
    return `+refs/heads/${name}:refs/remotes/${this.#remote}/${name}`
  }

  /** Fetches trunk, and who claims it. What the remote no longer has is deleted here, too. */
  async fetchTrunk(): Promise<GitFailed | undefined> {
    const fault = await this.fetch('--prune', this.#remote!, this.#refOf(this.#trunk!), this.#refOf(claimOf('*')))
    if (!/couldn't find remote ref/.test(fault?.message ?? '')) return fault
    await this.withLock(() => this.does('update-ref', '-d', `refs/remotes/${this.#remote}/${this.#trunk}`))
    return undefined
  }
}
