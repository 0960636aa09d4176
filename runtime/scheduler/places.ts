/** What the rules ask of an item's project, and of the campaign whose cycle it is: read once until that changes. */
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'

interface Place {
  readonly repository: string
  readonly isArchived: boolean
}

export class Places {
  private readonly runtime: Pick<Runtime, 'read'>
  private readonly known = new Map<string, Place>()
  /** Campaigns by name: whether they are paused. */
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

  /** The project has changed. Whether anybody had asked for it. */
  forget(projectId: string): boolean {
    return this.known.delete(projectId)
  }
}

/** Two projects on one repository share it; a project without one has its own. */
function placeOfProject(runtime: Pick<Runtime, 'read'>, projectId: string): Place {
  const project = committed(runtime, { kind: 'project', id: projectId })
  return { repository: project?.context.repository ?? projectId, isArchived: project?.value === 'archived' }
}
