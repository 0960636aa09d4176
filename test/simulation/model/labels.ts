/** How many runs may be under way with a label as the log describes it, and which are. */
import type { LoggedEvent } from './mirror.ts'
import { HELD, type RequestModel, type Requests } from './requests.ts'

export class Labels {
  private readonly requests: Requests
  readonly limits = new Map<string, number>()
  /** When a limit was last set or ended, virtual. */
  changedMs = 0

  constructor(requests: Requests) {
    this.requests = requests
  }

  take({ type, payload, atMs }: LoggedEvent): void {
    if (type !== 'pacing_label_limited' && type !== 'pacing_label_unlimited') return
    this.changedMs = atMs
    if (type === 'pacing_label_limited') this.limits.set(payload.label, payload.max_running)
    else this.limits.delete(payload.label)
  }

  /** A label of the request of which as many other runs as may be are under way, or were when they were lost. */
  fullOf(request: RequestModel): string | undefined {
    if (this.limits.size === 0) return undefined
    return request.labels.find((label) => this.besides(request, label) >= (this.limits.get(label) ?? Infinity))
  }

  private besides(request: RequestModel, label: string): number {
    let count = 0
    for (const other of this.requests.byId.values()) {
      const isUnderWay = HELD.has(other.state) || other.state === 'lost'
      if (other !== request && isUnderWay && other.labels.includes(label)) count++
    }
    return count
  }
}
