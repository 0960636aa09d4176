/** The weights of projects as the log describes them. */
import type { LoggedEvent } from './mirror.ts'

export class Weights {
  private readonly byProject = new Map<string, number>()

  take({ type, payload }: LoggedEvent): void {
    if (type === 'pacing_project_weighed') this.byProject.set(payload.project, payload.weight)
  }

  of(project: string): number {
    return this.byProject.get(project) ?? 1
  }
}
