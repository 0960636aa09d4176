/**
 * How the runs of several clones land in turn: they cannot see each other's lock. A run whose gate is slower than the
 * others land would lose to them for ever, so one that has lost once claims trunk with a branch of the remote, and all
 * others wait until that is gone before they push. Only for fairness: a push checks by itself that trunk has not moved.
 */
import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { claimOf } from './clone.ts'
import { TURN_MS } from './clone-lock.ts'
import { requestLine } from './earlier.ts'
import type { GitFailed } from './git.ts'
import type { Run } from './run.ts'

/** How often the remote is asked whether another run's claim is gone, in milliseconds. */
const ASK_MS = 3_000

export class Claim {
  readonly #run: Run
  /** The branch. */
  readonly #name: string
  readonly #forMs: number
  /** The commit that is our claim. */
  #ours: string | undefined
  /** The remote has refused it, and not because of another run's. */
  #isRefused = false
  /** The other run's claim that we wait for, and since when. */
  #seen: { readonly commit: string; readonly sinceMs: number } | undefined

  /** `forMs`: for how long others are to wait at most. */
  constructor(run: Run, forMs: number) {
    this.#run = run
    this.#name = claimOf(run.settings.land!)
    this.#forMs = forMs
  }

  /**
   * To be called after trunk was fetched, which fetches claims, too. Resolves to whether another run has claimed trunk,
   * after a pause; trunk must then be fetched again. A claim that was left is taken away.
   */
  async isAnothers(): Promise<boolean> {
    const { clone, report, settings } = this.#run
    const commit = clone.commitOf(`refs/remotes/${settings.push}/${this.#name}`)
    if (commit === undefined || commit === this.#ours) return false
    this.#isRefused = false
    if (this.#seen?.commit !== commit) {
      this.#seen = { commit, sinceMs: Date.now() }
      report.note(`${settings.land} is claimed by a run in another clone, which is to land first`)
    }
    if (this.#isLeft(this.#seen)) return (await this.#push('', commit)) !== undefined
    await pause(ASK_MS)
    return true
  }

  /**
   * Claims trunk, unless that was done or the remote refuses it. Resolves to whether it was tried: trunk must then be
   * fetched again, since another run may have been faster.
   */
  async make(): Promise<boolean> {
    if (this.#ours !== undefined || this.#isRefused) return false
    const { clone, work } = this.#run
    const said = [requestLine(work), `Intendant-Clone: ${this.#clone()}`]
    const text = ['A run is about to land', ...said, `Intendant-Turn: ${this.#forMs}`]
    const message = text.flatMap((line) => ['-m', line])
    const commit = clone.run(...clone.committer(), 'commit-tree', ...message, clone.run('mktree'))
    this.#isRefused = (await this.#push(commit, '')) !== undefined
    if (!this.#isRefused) this.#ours = commit
    return true
  }

  /** Takes the claim back, if one was made. */
  async drop(): Promise<void> {
    if (this.#ours !== undefined) await this.#push('', this.#ours)
  }

  /** Whether its run has had its time, or was killed: while this run has its turn, no other of this clone lands. */
  #isLeft({ commit, sinceMs }: { readonly commit: string; readonly sinceMs: number }): boolean {
    const said = this.#run.clone.run('show', '--no-patch', '--format=%B', commit)
    const of = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(said)?.[1]
    const forMs = Number(of('Intendant-Turn') ?? TURN_MS)
    return of('Intendant-Clone') === this.#clone() || !(Date.now() - sinceMs < forMs)
  }

  /** The same for all runs of this clone. Machines made from one image may have the same name. */
  #clone(): string {
    const { ino, birthtimeMs } = statSync(this.#run.clone.path)
    return `${hostname()} ${ino} ${birthtimeMs}`
  }

  /** The hooks of a push are about the work, which this is not. */
  #push(commit: string, expected: string): Promise<GitFailed | undefined> {
    const { clone, settings } = this.#run
    const ref = `refs/heads/${this.#name}`
    const lease = `--force-with-lease=${ref}:${expected}`
    return clone.overNetwork('push', '--quiet', '--no-verify', lease, settings.push!, `${commit}:${ref}`)
  }
}
