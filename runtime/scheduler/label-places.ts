/**
 * Which labels have places left for one more run. All that is handed out or running counts, and every run request that
 * a runner holds or may hold, of whatever origin. Counted once until something changes, since a tick asks about every
 * line; nothing is counted while no label is limited.
 *
 * A place that becomes free goes at once to a run request that waits for it, before the ledger hears of it. So where run
 * requests wait for a full label, one item stands in line with them, handed out beyond the limit, and has its turn by
 * their order. It takes no place and holds no repository meanwhile (stalled.ts).
 */
import type { Dispatcher } from '../dispatch/api.ts'
import type { LabelUse } from '../dispatch/label-limits.ts'
import type { Entry, Ledger } from './ledger.ts'

interface LabelPlacesParts {
  readonly ledger: Pick<Ledger, 'running' | 'find'>
  readonly dispatcher: Pick<Dispatcher, 'labels' | 'setLabelLimits' | 'isAwaited' | 'isExpected'>
  /** Items that are about to be handed out. */
  readonly starting: Iterable<string>
}

type Wanting = Pick<Entry, 'requirements'>

interface Counts {
  readonly underWay: Map<string, number>
  /** By label, the item that is handed out and not begun, though it has a runner that is heard; the first if several. */
  readonly inLine: Map<string, string>
}

export class LabelPlaces {
  private readonly parts: LabelPlacesParts
  private limits: ReadonlyMap<string, number> = new Map()
  /** By label, since the last change. */
  private counts: Counts | undefined

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
      if (underWay >= maxRunning && !this.mayJoinLine(label)) return { label, maxRunning, underWay }
    }
    return undefined
  }

  /** The same for a handed-out item: what only waits for a runner, as it does, is not counted. */
  takenFrom({ requirements, runId }: Wanting & Pick<Entry, 'runId'>): LabelUse | undefined {
    return this.parts.dispatcher.labels.fullOf(requirements.labels, runId)
  }

  /** Whether it stands in line with run requests for each of its labels that is full, and may go on doing so. */
  isInLine({ id, runId, requirements }: Pick<Entry, 'id' | 'runId' | 'requirements'>): boolean {
    if (this.isStopped({ requirements })) return false
    const { inLine } = this.counted()
    const isFull = (label: string): boolean => this.parts.dispatcher.labels.fullOf([label], runId) !== undefined
    return requirements.labels.every((label) => inLine.get(label) === id || !isFull(label))
  }

  /** Whether the label is limited, so that a place of it may be what the ledger waits for. */
  areLimited(labels: readonly string[]): boolean {
    return this.limits.size > 0 && labels.some((label) => this.limits.has(label))
  }

  private mayJoinLine(label: string): boolean {
    if (this.limits.get(label) === 0 || this.counted().inLine.has(label)) return false
    return this.parts.dispatcher.isAwaited(label)
  }

  /** Whether one of its labels is limited to 0. */
  isStopped({ requirements }: Wanting): boolean {
    return this.limits.size > 0 && requirements.labels.some((label) => this.limits.get(label) === 0)
  }

  uses(): LabelUse[] {
    return Array.from(this.limits, ([label, maxRunning]) => ({ label, maxRunning, underWay: this.underWay(label) }))
  }

  private underWay(label: string): number {
    return this.counted().underWay.get(label) ?? 0
  }

  /** One more item is about to be handed out. */
  started({ id, requirements }: Pick<Entry, 'id' | 'requirements'>): void {
    if (this.counts === undefined) return
    this.add(requirements.labels, this.counts.underWay)
    this.joinLine(id, requirements.labels, this.counts)
  }

  /** Something was committed or answered, or time has passed. */
  changed(): void {
    this.counts = undefined
  }

  private counted(): Counts {
    this.counts ??= this.count()
    return this.counts
  }

  private count(): Counts {
    const counts: Counts = { underWay: new Map(), inLine: new Map() }
    const { underWay } = counts
    const { ledger, starting, dispatcher } = this.parts
    const runs = new Set<string>()
    for (const { id, state, yields, runId, requirements } of ledger.running) {
      if (!this.areLimited(requirements.labels)) continue
      if (state === 'queued' && dispatcher.isExpected(requirements)) this.joinLine(id, requirements.labels, counts)
      if (yields) continue
      this.add(requirements.labels, underWay)
      if (runId !== undefined) runs.add(runId)
    }
    for (const id of starting) {
      const entry = ledger.find(id)
      if (entry === undefined || entry.runId !== undefined) continue
      this.add(entry.requirements.labels, underWay)
      this.joinLine(id, entry.requirements.labels, counts)
    }
    for (const label of this.limits.keys())
      for (const { id } of dispatcher.labels.holdersOf(label)) if (!runs.has(id)) this.add([label], underWay)
    return counts
  }

  private joinLine(id: string, labels: readonly string[], { inLine }: Counts): void {
    for (const label of labels) if (this.limits.has(label) && !inLine.has(label)) inLine.set(label, id)
  }

  /** Counts one more of each that is limited. */
  private add(labels: readonly string[], counts: Map<string, number>): void {
    for (const label of labels) if (this.limits.has(label)) counts.set(label, (counts.get(label) ?? 0) + 1)
  }
}
