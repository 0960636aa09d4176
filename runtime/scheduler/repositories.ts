/**
 * What holds a repository: items whose runs do, those that are about to be handed out, and run requests of other
 * origin. Found once until something changes, since a tick asks about every item of an open line.
 */
import { addTo, removeFrom } from '../collections/sets.ts'
import type { Dispatcher, RepositoryHolder } from '../dispatch/api.ts'
import { Holders } from '../writers.ts'
import type { Entry, Ledger } from './ledger.ts'

export class Repositories {
  private readonly ledger: Pick<Ledger, 'holdersOf'>
  private readonly dispatcher: Pick<Dispatcher, 'repositoryHolders' | 'maxWriters'>
  /** Items with a `hand_out` under way. */
  private readonly taken = new Map<string, Set<Entry>>()
  private readonly known = new Map<string, Holders<RepositoryHolder>>()

  constructor(ledger: Pick<Ledger, 'holdersOf'>, dispatcher: Pick<Dispatcher, 'repositoryHolders' | 'maxWriters'>) {
    this.ledger = ledger
    this.dispatcher = dispatcher
  }

  /** The ids of what holds it, if no further run of the project may change it. */
  holdersOf(repository: string, projectId: string): readonly string[] {
    let holders = this.known.get(repository)
    if (holders === undefined) {
      holders = this.find(repository)
      this.known.set(repository, holders)
    }
    return holders.areEnough(projectId, this.dispatcher.maxWriters) ? Array.from(holders, ({ id }) => id) : []
  }

  take(repository: string, entry: Entry): void {
    addTo(this.taken, repository, entry)
    this.known.get(repository)?.add(entry)
  }

  leave(repository: string, entry: Entry): void {
    removeFrom(this.taken, repository, entry)
  }

  /** Something was committed or answered, or time has passed. */
  changed(): void {
    this.known.clear()
  }

  private find(repository: string): Holders<RepositoryHolder> {
    const holders = new Holders<RepositoryHolder>()
    const runs = new Set<string | undefined>()
    for (const items of [this.ledger.holdersOf(repository), this.taken.get(repository) ?? []])
      for (const item of items) {
        holders.add(item)
        runs.add(item.runId)
      }
    for (const run of this.dispatcher.repositoryHolders(repository)) if (!runs.has(run.id)) holders.add(run)
    return holders
  }
}
