/** What the rules need of an item's project, and of the campaign it is a cycle of: cached until that changes. */
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'

interface Place {
  readonly repository: string
  readonly isArchived: boolean
}

export class Places {
  private readonly runtime: Pick<Runtime, 'read'>
  private readonly known = new Map<string, Place>()
  /** By campaign name: whether it is paused. */
  private readonly campaigns = new Map<string, boolean>()

  constructor(runtime: Pick<Runtime, 'read'>) {
    this.runtime = runtime
  }

  of(projectId: string): Place {
    let place = this.known.get(projectId)
    if (place === undefined) {
      place = placeOfProject(this.runtime, projectId)
      this.known.set(projectId, place)
    }
    return place
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
function placeOfProject(runtime: Pick<Runtime, 'read'>, projectId: string): Place {
  const project = committed(runtime, { kind: 'project', id: projectId })
  return { repository: project?.context.repository ?? projectId, isArchived: project?.value === 'archived' }
}
