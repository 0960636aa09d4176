/**
 * Which labels have places left for one more run. All that is handed out or running counts, and every run request that
 * a runner holds or may hold, of whatever origin. Counted once until something changes, since a tick asks about every
 * line; nothing is counted while no label is limited.
 */
import type { Dispatcher } from '../dispatch/api.ts'
import type { LabelUse } from '../dispatch/label-limits.ts'
import type { Entry, Ledger } from './ledger.ts'

interface LabelPlacesParts {
  readonly ledger: Pick<Ledger, 'running' | 'find'>
  readonly dispatcher: Pick<Dispatcher, 'labels' | 'setLabelLimits'>
  /** Items that are about to be handed out. */
  readonly starting: Iterable<string>
}

type Wanting = Pick<Entry, 'requirements'>

export class LabelPlaces {
  private readonly parts: LabelPlacesParts
  private limits: ReadonlyMap<string, number> = new Map()
  /** By label, since the last change. */
  private counts: Map<string, number> | undefined

  constructor(parts: LabelPlacesParts) {
    this.parts = parts
  }

  /** Replaces all limits, for the dispatcher too. */
  limit(limits: ReadonlyMap<string, number>): void {
    this.limits = limits
    this.counts = undefined
    this.parts.dispatcher.setLabelLimits(limits)
  }

  /** The first of its labels of which no further item may be handed out; undefined if there is none. */
  fullFor({ requirements }: Wanting): LabelUse | undefined {
    if (this.limits.size === 0) return undefined
    for (const label of requirements.labels) {
      const maxRunning = this.limits.get(label)
      if (maxRunning === undefined) continue
      const underWay = this.underWay(label)
      if (underWay >= maxRunning) return { label, maxRunning, underWay }
    }
    return undefined
  }

  /** The same for a handed-out item: what only waits for a runner, as it does, is not counted. */
  takenFrom({ requirements, runId }: Wanting & Pick<Entry, 'runId'>): LabelUse | undefined {
    return this.parts.dispatcher.labels.fullOf(requirements.labels, runId)
  }

  /** Whether one of its labels is limited to 0. */
  isStopped({ requirements }: Wanting): boolean {
    return this.limits.size > 0 && requirements.labels.some((label) => this.limits.get(label) === 0)
  }

  uses(): LabelUse[] {
    return Array.from(this.limits, ([label, maxRunning]) => ({ label, maxRunning, underWay: this.underWay(label) }))
  }

  private underWay(label: string): number {
    this.counts ??= this.count()
    return this.counts.get(label) ?? 0
  }

  /** One more item is about to be handed out. */
  started({ requirements }: Wanting): void {
    if (this.counts !== undefined) this.add(requirements.labels, this.counts)
  }

  /** Something was committed or answered, or time has passed. */
  changed(): void {
    this.counts = undefined
  }

  private count(): Map<string, number> {
    const counts = new Map<string, number>()
    const { ledger, starting, dispatcher } = this.parts
    const runs = new Set<string>()
    for (const { yields, runId, requirements } of ledger.running) {
      if (yields || !this.add(requirements.labels, counts)) continue
      if (runId !== undefined) runs.add(runId)
    }
    for (const id of starting) {
      const entry = ledger.find(id)
      if (entry !== undefined && entry.runId === undefined) this.add(entry.requirements.labels, counts)
    }
    for (const label of this.limits.keys())
      for (const { id } of dispatcher.labels.holdersOf(label)) if (!runs.has(id)) this.add([label], counts)
    return counts
  }

  /** Counts one more of each that is limited; false if none is. */
  private add(labels: readonly string[], counts: Map<string, number>): boolean {
    let isAny = false
    for (const label of labels) {
      if (!this.limits.has(label)) continue
      counts.set(label, (counts.get(label) ?? 0) + 1)
      isAny = true
    }
    return isAny
  }
}
