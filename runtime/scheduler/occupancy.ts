/**
 * Who takes a place, and for whom there is one. With a cap of its own the service counts all that is handed out or runs.
 * Without one a place is a slot of a runner that is there and takes work: what runs elsewhere (its runner drains, or is
 * gone) has none of them, and what waits for runners that are full keeps nobody from those that are not.
 */
import { answeredOnce } from '../collections/answered-once.ts'
import type { Dispatcher, Wanted } from '../dispatch/api.ts'
import type { Entry, Ledger } from './ledger.ts'

type Question = (wanted: Wanted) => boolean

interface OccupancyParts {
  readonly dispatcher: Pick<Dispatcher, 'freeTakers' | 'hasTaker' | 'isExpected' | 'onlineCapacity' | 'usesSlot'>
  readonly ledger: Pick<Ledger, 'running' | 'placedCount' | 'hasLooks'>
  /** The service's own cap. */
  readonly maxRunning: number | undefined
  /** Items that are about to be handed out. */
  readonly starting: ReadonlySet<string>
  /** Undefined: it could not be told. */
  guarded<T>(entry: Entry, act: () => T): T | undefined
}

export class Occupancy {
  private readonly parts: OccupancyParts
  /** What was asked and counted since the last change. */
  private hasTaker: Question | undefined
  private hasFreeTaker: Question | undefined
  private hasExpected: Question | undefined
  private runningNow: number | undefined
  private nearFreeNow: number | undefined
  /** Of a fleet as it is: with runners that may only look, and without. */
  private slotsNow: ((looks: boolean) => number) | undefined

  constructor(parts: OccupancyParts) {
    this.parts = parts
  }

  /** Whether a runner that is there, and takes work, may take it. */
  hasRunner({ wanted }: Pick<Entry, 'wanted'>): boolean {
    this.hasTaker ??= answeredOnce((one) => this.parts.dispatcher.hasTaker(one))
    return this.hasTaker(wanted)
  }

  /** Whether one of them has a poll that waits, or may be on its way with one. */
  isExpected({ wanted }: Pick<Entry, 'wanted'>): boolean {
    this.hasExpected ??= answeredOnce((one) => this.parts.dispatcher.isExpected(one))
    return this.hasExpected(wanted)
  }

  hasPlace(entry: Pick<Entry, 'wanted'>): boolean {
    if (this.running() < this.maxRunning()) return true
    // All that are too many may wait for runners that are full.
    return this.parts.maxRunning === undefined && this.hasFreeRunner(entry) && this.nearFree() < this.maxRunning()
  }

  /** Items that run, are handed out or on their way there, as far as they take a place. */
  running(): number {
    this.runningNow ??= this.parts.maxRunning === undefined ? this.count(this.hasPlaceOrTaker) : this.countAll()
    return this.runningNow
  }

  /** Slots that what the ledger holds may have: of runners that are not trusted only while something in it just looks. */
  maxRunning(): number {
    const { maxRunning, dispatcher, ledger } = this.parts
    if (maxRunning !== undefined) return maxRunning
    this.slotsNow ??= answeredOnce((looks) => dispatcher.onlineCapacity(looks))
    return this.slotsNow(ledger.hasLooks)
  }

  /** Something was committed, or sent. */
  changed(): void {
    this.runningNow = undefined
    this.nearFreeNow = undefined
    this.hasFreeTaker = undefined
    this.hasExpected = undefined
  }

  /** One more is about to be handed out: the runners know nothing of that yet. */
  started(): void {
    if (this.runningNow !== undefined) this.runningNow++
    if (this.nearFreeNow !== undefined) this.nearFreeNow++
  }

  /** Who is there, and what they may take, is to be asked again. */
  fleetChanged(): void {
    this.changed()
    this.hasTaker = undefined
    this.slotsNow = undefined
  }

  /** The same, less what waits for runners that are full. */
  private nearFree(): number {
    this.nearFreeNow ??= this.count((entry) => this.usesSlot(entry) ?? this.hasFreeRunner(entry))
    return this.nearFreeNow
  }

  private readonly hasPlaceOrTaker = (entry: Entry): boolean => this.usesSlot(entry) ?? this.hasRunner(entry)

  /** Undefined: no runner has it. */
  private usesSlot({ runId }: Entry): boolean | undefined {
    return runId === undefined ? undefined : this.parts.dispatcher.usesSlot(runId)
  }

  private hasFreeRunner({ wanted }: Pick<Entry, 'wanted'>): boolean {
    this.hasFreeTaker ??= answeredOnce(this.parts.dispatcher.freeTakers())
    return this.hasFreeTaker(wanted)
  }

  private countAll(): number {
    return this.parts.ledger.placedCount + this.parts.starting.size
  }

  private count(takesPlace: (entry: Entry) => boolean): number {
    const { ledger, starting, guarded } = this.parts
    let count = starting.size
    // Of one that cannot be told it is not known that it holds no place.
    for (const entry of ledger.running) if (!entry.isAside && guarded(entry, () => takesPlace(entry)) !== false) count++
    return count
  }
}
