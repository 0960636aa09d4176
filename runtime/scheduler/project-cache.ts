/** What the rules need of an item's project, and of the campaign it is a cycle of: cached until that changes. */
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'

interface ProjectInfo {
  readonly repository: string
  readonly isArchived: boolean
}

export class ProjectCache {
  private readonly runtime: Pick<Runtime, 'read'>
  private readonly known = new Map<string, ProjectInfo>()
  /** By campaign name: whether it is paused. */
  private readonly campaigns = new Map<string, boolean>()

  constructor(runtime: Pick<Runtime, 'read'>) {
    this.runtime = runtime
  }

  of(projectId: string): ProjectInfo {
    let info = this.known.get(projectId)
    if (info === undefined) {
      info = readProject(this.runtime, projectId)
      this.known.set(projectId, info)
    }
    return info
  }

  isCampaignPaused(campaign: string): boolean {
    let isPaused = this.campaigns.get(campaign)
    if (isPaused === undefined) {
      isPaused = committed(this.runtime, { kind: 'campaign', id: campaign })?.value === 'paused'
      this.campaigns.set(campaign, isPaused)
    }
    return isPaused
  }

  /** The same for a campaign. */
  forgetCampaign(campaign: string): boolean {
    return this.campaigns.delete(campaign)
  }

  /** The project has changed. Returns whether it was cached. */
  forget(projectId: string): boolean {
    return this.known.delete(projectId)
  }
}

/** Two projects on one repository share it; a project without one gets a repository of its own, named by its id. */
function readProject(runtime: Pick<Runtime, 'read'>, projectId: string): ProjectInfo {
  const project = committed(runtime, { kind: 'project', id: projectId })
  return { repository: project?.context.repository ?? projectId, isArchived: project?.value === 'archived' }
}
