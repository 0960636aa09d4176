/** How many runs may change a repository at a time as the log describes it, and which do. */
import { projectIdOf } from '../../../machines/ids.ts'
import type { LoggedEvent } from './mirror.ts'
import { HELD, type RequestModel, type Requests } from './requests.ts'

export class Writers {
  private readonly requests: Requests
  /** By project key; one where a project says nothing. */
  private readonly limits = new Map<string, number>()

  constructor(requests: Requests) {
    this.requests = requests
  }

  take({ type, project, payload }: LoggedEvent): void {
    if (type === 'project_created' || type === 'project_updated') this.limits.set(project, payload.max_writers ?? 1)
  }

  /** Other requests that runners hold, or held when they were lost, and that change the repository of this one. */
  besides(request: RequestModel): readonly RequestModel[] {
    const repository = repositoryOf(request)
    if (repository === undefined) return []
    return [...this.requests.byId.values()].filter(
      (other) =>
        other !== request && (HELD.has(other.state) || other.state === 'lost') && repositoryOf(other) === repository,
    )
  }

  /** Whether the request may not join them. */
  areEnough(others: readonly RequestModel[], request: RequestModel): boolean {
    return others.length > 0 && [request, ...others].some((one) => others.length + 1 > this.limitOf(one))
  }

  private limitOf({ project }: RequestModel): number {
    return this.limits.get(project) ?? 1
  }
}

/** Undefined: it changes nothing. */
function repositoryOf({ throttle, access, created, project }: RequestModel): string | undefined {
  if (throttle !== 'full' || access !== 'full') return undefined
  return created.payload.repo?.path ?? projectIdOf(project)
}
