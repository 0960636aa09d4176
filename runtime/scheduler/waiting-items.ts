/** Queued items that are not handed out, as people are shown them: worked out when somebody reads it. */

import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import { instantMs } from '../../machines/instant.ts'
import { answeredOnce } from '../collections/answered-once.ts'
import type { FindRows } from '../collections/newest.ts'
import type { Absence, RunnerRequirements, Stranding, Visible } from '../dispatch/api.ts'
import type { QueuedOfProject } from '../dispatch/queue.ts'
import type { WaitingItems } from './api.ts'
import type { Entry, Ledger } from './ledger.ts'
import { isLineStopped, isLineWithoutRunner, type SchedulingView, waitsForRunnerAlone } from './rules.ts'
import { strandedItems, strandedScanMax } from './stranded.ts'

interface WaitingItemsParts {
  readonly ledger: Pick<Ledger, 'find' | 'queued'>
  readonly takers: Stranding
  readonly now: SchedulingView
  /** Undefined if `act` threw. */
  shown<T>(entry: Entry, act: () => T): T | undefined
}

export class LedgerWaitingItems implements WaitingItems {
  private readonly parts: WaitingItemsParts

  constructor(parts: WaitingItemsParts) {
    this.parts = parts
  }

  stranded(sees: (project: string) => boolean): FindRows {
    const { ledger, takers, now, shown } = this.parts
    const isStranded = (entry: Entry): boolean =>
      isLineWithoutRunner(entry, now) && takers.strandedBecause(entry.requirements) !== undefined
    return strandedItems(ledger.queued, ({ project }) => sees(project), {
      isLineStranded: (entry) => shown(entry, () => isStranded(entry)) ?? false,
      waitsForRunnerAlone: (entry) => this.waitsForRunnerAlone(entry),
    })
  }

  strandedBecause(itemId: string, visible?: Visible): WaitingBecause | undefined {
    const { ledger, takers, shown } = this.parts
    const entry = ledger.find(itemId)
    return entry && shown(entry, () => takers.strandedBecause(entry.requirements, visible))
  }

  /** Asks about runners once per wish. Entries that also wait for a time or for items count up to one page's looks. */
  absences(sees: (project: string) => boolean): ReadonlyMap<string, Absence> {
    const { ledger, takers, now, shown } = this.parts
    const found = takers.absences(sees)
    const absence = answeredOnce((requirements: RunnerRequirements) => takers.absence(requirements))
    const absenceOf = (entry: Entry): Absence | undefined => shown(entry, () => absence(entry.requirements))
    const isOpen = (entry: Entry): boolean =>
      sees(entry.project) &&
      !found.has(entry.project) &&
      shown(entry, () => isLineStopped(entry, now)) === false &&
      absenceOf(entry) !== undefined
    let looks = 0
    for (const entry of ledger.queued.open(isOpen)) {
      if (looks++ === strandedScanMax) break
      if (this.waitsForRunnerAlone(entry)) found.set(entry.project, absenceOf(entry)!)
    }
    return found
  }

  /** The first entry of each line has waited longest, so none behind it is looked at. */
  backlog(): readonly QueuedOfProject[] {
    const { ledger, now } = this.parts
    const nowMs = now.nowMs()
    const totals = new Map<string, QueuedOfProject>()
    for (const [{ project, submittedAt }, count] of ledger.queued.heads()) {
      const total = totals.get(project) ?? { project, count: 0, oldestAgeMs: 0 }
      const oldestAgeMs = Math.max(total.oldestAgeMs, nowMs - instantMs(submittedAt))
      totals.set(project, { project, count: total.count + count, oldestAgeMs })
    }
    return [...totals.values()]
  }

  private waitsForRunnerAlone(entry: Entry): boolean {
    const { now, shown } = this.parts
    return shown(entry, () => waitsForRunnerAlone(entry, now)) === true
  }
}
