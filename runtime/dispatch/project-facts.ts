/** What hand-out must know of projects: which are archived, and how many runs may change their repository at once. */
import { WRITERS_DEFAULT } from '../../machines/documents/project.ts'
import type { Runtime, SnapshotOf } from '../api.ts'
import type { Guard } from '../control/guard.ts'

/** The lists of the projects of which a fact is not the usual one. */
const NOTED = [
  ['state', 'archived'],
  ['writers', 'several'],
] as const

export class ProjectFacts {
  /** Project ids. */
  private readonly archived = new Set<string>()
  /** Limits other than the default one, by project id. */
  private readonly limits = new Map<string, number>()
  private readonly changed: () => void

  /** Listens to projects. `changed`: one of the facts has changed. */
  constructor(runtime: Pick<Runtime, 'scan' | 'onCommit'>, guard: Guard, changed: () => void) {
    this.changed = changed
    for (const [index, value] of NOTED)
      for (const { ref, snapshot } of runtime.scan('project', index, value))
        guard.guarded(ref, () => this.note(ref.id, snapshot))
    runtime.onCommit((steps) => {
      for (const { ref, after } of steps)
        if (ref.kind === 'project') guard.guarded(ref, () => this.note(ref.id, after) && changed())
    })
  }

  /** Retries a project after a failure: its step, or what followed from it, was not taken in. */
  reread(id: string, snapshot: SnapshotOf<any> | undefined): void {
    if (snapshot !== undefined) this.note(id, snapshot)
    this.changed()
  }

  isArchived(id: string): boolean {
    return this.archived.has(id)
  }

  readonly maxWriters = (id: string): number => this.limits.get(id) ?? WRITERS_DEFAULT

  /** Returns whether a fact changed. */
  private note(id: string, { value, context }: SnapshotOf<any>): boolean {
    const isArchived = value === 'archived'
    const limit: number = context.max_writers ?? WRITERS_DEFAULT
    if (this.archived.has(id) === isArchived && this.maxWriters(id) === limit) return false
    if (isArchived) this.archived.add(id)
    else this.archived.delete(id)
    if (limit === WRITERS_DEFAULT) this.limits.delete(id)
    else this.limits.set(id, limit)
    return true
  }
}
