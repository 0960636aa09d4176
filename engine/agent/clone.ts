/** The clone that runs share (`REPOSITORY`): the commits it knows, and how it is brought up to its remote. */
import { resolve } from 'node:path'
import type { Git, GitFailed } from './git.ts'
import type { Report } from './report.ts'
import type { Settings } from './settings.ts'
import type { StopRequest } from './stop-request.ts'
import { inTurn } from './turnstile.ts'

interface CloneOptions {
  readonly git: Git
  readonly settings: Settings
  readonly report: Report
  readonly stop: StopRequest
}

export class Clone {
  /** Its folder. */
  readonly path: string
  readonly #git: Git
  readonly #report: Report
  readonly #stop: StopRequest
  readonly #remote: string | undefined
  readonly #trunk: string | undefined

  constructor({ git, settings, report, stop }: CloneOptions) {
    this.path = settings.repository
    this.#git = git
    this.#report = report
    this.#stop = stop
    this.#remote = settings.push
    this.#trunk = settings.land
  }

  /** What git prints there. Throws as `Git.run`. */
  run(...args: string[]): string {
    return this.#git.run(this.path, args)
  }

  /** Whether git says so there. */
  does(...args: string[]): boolean {
    return this.#git.does(this.path, args)
  }

  /** The commit of that name, here or of the remote; undefined: there is none. */
  commitOf(name: string): string | undefined {
    for (const prefix of ['', 'refs/remotes/']) {
      try {
        return this.run('rev-parse', '--quiet', '--verify', '--end-of-options', `${prefix}${name}^{commit}`)
      } catch {}
    }
    return undefined
  }

  /** The newest commit of trunk, as it was fetched last; where nothing lands, of what is checked out. Undefined: there is none. */
  trunk(): string | undefined {
    return this.commitOf(this.#trunk === undefined ? 'HEAD' : `${this.#remote}/${this.#trunk}`)
  }

  isWithin(commit: string, other: string): boolean {
    return this.does('merge-base', '--is-ancestor', commit, other)
  }

  /** Git takes it for the name of something, and for nothing else. */
  isName(name: string): boolean {
    return this.does('check-ref-format', '--allow-onelevel', name)
  }

  /** Options with which git commits where its settings name nobody. */
  committer(): string[] {
    if (this.does('config', 'user.email')) return []
    return ['-c', 'user.name=intendant', '-c', 'user.email=intendant@localhost']
  }

  /** Does it while no other run does such a thing in the clone. */
  async inTurn<T>(act: () => T | Promise<T>): Promise<T> {
    let folder: string
    try {
      folder = this.run('rev-parse', '--git-common-dir')
    } catch {
      return await act()
    }
    const lock = resolve(this.path, folder, 'intendant.lock')
    return await inTurn({ lock, stop: this.#stop, note: (why) => this.#report.note(why) }, act)
  }

  /** Runs git over a line there; resolves to what it has against it. */
  overLine(...args: string[]): Promise<GitFailed | undefined> {
    return this.#git.overLine(this.path, args)
  }

  /** Fetches, in its turn; resolves to what git has against it. */
  fetch(...what: string[]): Promise<GitFailed | undefined> {
    return this.inTurn(() => this.overLine('fetch', '--quiet', ...what))
  }

  /** A branch by its name: a clone of one branch (`--single-branch`, `--depth 1`) does not fetch others by itself. */
  fetchBranch(name: string): Promise<GitFailed | undefined> {
    return this.fetch(this.#remote!, `+refs/heads/${name}:refs/remotes/${this.#remote}/${name}`)
  }

  /** The same of trunk, which is not there any more where the remote has none. */
  async fetchTrunk(): Promise<GitFailed | undefined> {
    const fault = await this.fetchBranch(this.#trunk!)
    if (!/couldn't find remote ref/.test(fault?.message ?? '')) return fault
    await this.inTurn(() => this.does('update-ref', '-d', `refs/remotes/${this.#remote}/${this.#trunk}`))
    return undefined
  }
}
