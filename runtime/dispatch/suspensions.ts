/**
 * Where nothing starts now: paused lanes and archived projects. Work under way in them goes on; an offer that was
 * not accepted yet is taken back.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { Demand } from './eligibility.ts'
import type { ProjectFacts } from './project-facts.ts'

/** Why nothing starts. */
export type SuspensionReason = 'lane_paused' | 'project_archived'

type LaneAndProject = Pick<Demand, 'lane' | 'projectId'>

export class Suspensions {
  private pausedLanes: ReadonlySet<string> = new Set()
  private readonly projects: ProjectFacts
  private readonly changed: () => void

  /** `changed`: the set of paused lanes has changed. */
  constructor(projects: ProjectFacts, changed: () => void) {
    this.projects = projects
    this.changed = changed
  }

  pauseLanes(lanes: Iterable<string>): void {
    this.pausedLanes = new Set(lanes)
    this.changed()
  }

  why({ lane, projectId }: LaneAndProject): SuspensionReason | undefined {
    if (this.projects.isArchived(projectId)) return 'project_archived'
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
}
