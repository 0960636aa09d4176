/** What the rules ask of an item's project, read once until the project changes. */
import type { Runtime } from '../api.ts'
import { committed } from '../committed.ts'

interface Place {
  readonly repository: string
  readonly isArchived: boolean
}

export class Places {
  private readonly runtime: Pick<Runtime, 'read'>
  private readonly known = new Map<string, Place>()

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
