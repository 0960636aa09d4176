/**
 * Which items take a place, and which can have one. If the service has a cap of its own, everything handed out or
 * running counts. Otherwise a place is a slot of an online runner that takes work: items running elsewhere (their
 * runner drains or is gone) take none, and items waiting for busy runners do not block those for free ones.
 */
import { answeredOnce } from '../collections/answered-once.ts'
import type { Dispatcher, RunnerRequirements } from '../dispatch/api.ts'
import type { Entry, Ledger } from './ledger.ts'

type Question = (requirements: RunnerRequirements) => boolean

interface OccupancyParts {
  readonly dispatcher: Pick<Dispatcher, 'freeTakers' | 'hasTaker' | 'isExpected' | 'onlineCapacity' | 'usesSlot'>
  readonly ledger: Pick<Ledger, 'running' | 'placedCount' | 'hasReadOnly'>
  /** The service's own cap, if set. */
  readonly maxRunning: number | undefined
  /** Items that are about to be handed out. */
  readonly starting: ReadonlySet<string>
  /** Undefined if `act` threw. */
  guarded<T>(entry: Entry, act: () => T): T | undefined
}

export class Occupancy {
  private readonly parts: OccupancyParts
  /** Answers and counts cached since the last change. */
  private hasTaker: Question | undefined
  private hasFreeTaker: Question | undefined
  private hasExpected: Question | undefined
  private runningNow: number | undefined
  private nearFreeNow: number | undefined
  /** Slots of the present fleet, with or without runners that may only take read-only work. */
  private slotsNow: ((includesReadOnly: boolean) => number) | undefined

  constructor(parts: OccupancyParts) {
    this.parts = parts
  }

  /** Whether an online runner that takes work may take the item. */
  hasRunner({ requirements }: Pick<Entry, 'requirements'>): boolean {
    this.hasTaker ??= answeredOnce((one) => this.parts.dispatcher.hasTaker(one))
    return this.hasTaker(requirements)
  }

  /** Whether such a runner has a parked poll or is expected to poll. */
  isExpected({ requirements }: Pick<Entry, 'requirements'>): boolean {
    this.hasExpected ??= answeredOnce((one) => this.parts.dispatcher.isExpected(one))
    return this.hasExpected(requirements)
  }

  hasPlace(entry: Pick<Entry, 'requirements'>): boolean {
    if (this.running() < this.maxRunning()) return true
    // All items over the cap may be waiting for busy runners.
    return this.parts.maxRunning === undefined && this.hasFreeRunner(entry) && this.nearFree() < this.maxRunning()
  }

  /** Items that run, are handed out or are about to be, as far as they take a place. */
  running(): number {
    this.runningNow ??= this.parts.maxRunning === undefined ? this.count(this.hasPlaceOrTaker) : this.countAll()
    return this.runningNow
  }

  /** Slots available to the items in the ledger: those of untrusted runners count only while some item is read-only. */
  maxRunning(): number {
    const { maxRunning, dispatcher, ledger } = this.parts
    if (maxRunning !== undefined) return maxRunning
    this.slotsNow ??= answeredOnce((includesReadOnly) => dispatcher.onlineCapacity(includesReadOnly))
    return this.slotsNow(ledger.hasReadOnly)
  }

  /** Something was committed or sent. */
  changed(): void {
    this.runningNow = undefined
    this.nearFreeNow = undefined
    this.hasFreeTaker = undefined
    this.hasExpected = undefined
  }

  /** One more item is about to be handed out, which the dispatcher does not know yet. */
  started(): void {
    if (this.runningNow !== undefined) this.runningNow++
    if (this.nearFreeNow !== undefined) this.nearFreeNow++
  }

  /** Which runners are online, and what they may take, must be asked again. */
  fleetChanged(): void {
    this.changed()
    this.hasTaker = undefined
    this.slotsNow = undefined
  }

  /** Like `running`, without items that wait for busy runners. */
  private nearFree(): number {
    this.nearFreeNow ??= this.count((entry) => this.usesSlot(entry) ?? this.hasFreeRunner(entry))
    return this.nearFreeNow
  }

  private readonly hasPlaceOrTaker = (entry: Entry): boolean => this.usesSlot(entry) ?? this.hasRunner(entry)

  /** Undefined if no runner has it. */
  private usesSlot({ runId }: Entry): boolean | undefined {
    return runId === undefined ? undefined : this.parts.dispatcher.usesSlot(runId)
  }

  private hasFreeRunner({ requirements }: Pick<Entry, 'requirements'>): boolean {
    this.hasFreeTaker ??= answeredOnce(this.parts.dispatcher.freeTakers())
    return this.hasFreeTaker(requirements)
  }

  private countAll(): number {
    return this.parts.ledger.placedCount + this.parts.starting.size
  }

  private count(takesPlace: (entry: Entry) => boolean): number {
    const { ledger, starting, guarded } = this.parts
    let count = starting.size
    // If the check failed, the entry may hold a place, so it counts.
    for (const entry of ledger.running) if (!entry.isAside && guarded(entry, () => takesPlace(entry)) !== false) count++
    return count
  }
}
