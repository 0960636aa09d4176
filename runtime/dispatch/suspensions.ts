/**
 * Where nothing starts now: paused lanes and archived projects. Work under way in them goes on; an offer that was
 * not accepted yet is taken back.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { Runtime, SnapshotOf } from '../api.ts'
import type { Guard } from '../control/guard.ts'
import type { Demand } from './eligibility.ts'

/** Why nothing starts. */
export type SuspensionReason = 'lane_paused' | 'project_archived'

type LaneAndProject = Pick<Demand, 'lane' | 'projectId'>

export class Suspensions {
  private pausedLanes: ReadonlySet<string> = new Set()
  /** Project ids. */
  private readonly archivedProjects = new Set<string>()

  private readonly changed: () => void

  /** Listens to projects. `changed`: the set of paused lanes or of archived projects has changed. */
  constructor(runtime: Pick<Runtime, 'scan' | 'onCommit'>, guard: Guard, changed: () => void) {
    this.changed = changed
    for (const { ref } of runtime.scan('project', 'state', 'archived')) this.archivedProjects.add(ref.id)
    runtime.onCommit((steps) => {
      for (const { ref, after } of steps)
        if (ref.kind === 'project') guard.guarded(ref, () => this.noteProject(ref.id, after) && changed())
    })
  }

  /** Retries a project after a failure: its step, or what followed from it, was not taken in. */
  reread(id: string, snapshot: SnapshotOf<any> | undefined): void {
    if (snapshot !== undefined) this.noteProject(id, snapshot)
    this.changed()
  }

  pauseLanes(lanes: Iterable<string>): void {
    this.pausedLanes = new Set(lanes)
    this.changed()
  }

  why({ lane, projectId }: LaneAndProject): SuspensionReason | undefined {
    if (this.archivedProjects.has(projectId)) return 'project_archived'
    return this.pausedLanes.has(lane) ? 'lane_paused' : undefined
  }

  /** The same as a sentence. */
  because(demand: Demand): WaitingBecause | undefined {
    const code = this.why(demand)
    if (code === undefined) return undefined
    const isLane = code === 'lane_paused'
    const detail = isLane ? `The lane ${demand.lane} is paused.` : `The project ${demand.project.key} is archived.`
    return { code, detail }
  }

  /** Returns whether the state changed. */
  private noteProject(id: string, { value }: SnapshotOf<any>): boolean {
    const isArchived = value === 'archived'
    if (this.archivedProjects.has(id) === isArchived) return false
    if (isArchived) this.archivedProjects.add(id)
    else this.archivedProjects.delete(id)
    return true
  }
}
