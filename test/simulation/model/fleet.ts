/** Runners as the log describes them. */
import type { LoggedEvent } from './mirror.ts'

export interface RunnerModel {
  readonly id: string
  state: 'registered' | 'draining' | 'removed'
  capacity: number
  labels: readonly string[]
  projects: readonly string[]
  trusted: boolean
  online: boolean
  /** Its provider is away. */
  limited: boolean
  /** When its terms last changed, virtual. */
  changedMs: number
}

export class Fleet {
  readonly byId = new Map<string, RunnerModel>()

  take(event: LoggedEvent): void {
    const { type, payload, atMs } = event
    if (type === 'runner_registered') {
      const { runner_id: id, capacity, labels, allowed_projects: projects, trusted } = payload
      this.byId.set(id, {
        id,
        state: 'registered',
        capacity,
        labels,
        projects,
        trusted,
        online: false,
        limited: false,
        changedMs: atMs,
      })
      return
    }
    const runner = type.startsWith('runner_') ? this.byId.get(payload.runner_id) : undefined
    if (runner === undefined) return
    if (type === 'runner_online' || type === 'runner_offline') {
      runner.online = type === 'runner_online'
      return
    }
    if (type === 'runner_limited' || type === 'runner_limit_ended') {
      runner.limited = type === 'runner_limited'
      runner.changedMs = atMs
      return
    }
    if (runner.state !== payload.state) runner.changedMs = atMs
    runner.state = payload.state
    if (type !== 'runner_updated' || payload.capacity === undefined) return
    runner.changedMs = atMs
    runner.capacity = payload.capacity
    runner.labels = payload.labels
    runner.projects = payload.allowed_projects
    runner.trusted = payload.trusted
  }
}
