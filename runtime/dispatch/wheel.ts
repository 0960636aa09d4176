/**
 * One event-loop timer for all parked polls, presences and holds: entries lie in buckets of one tick, and only a
 * bucket that is not empty wakes the process. Adding and removing an entry take constant time and allocate nothing.
 * An entry never fires early, and at most a tick late.
 */
import type { ActorRef, Platform } from '../api.ts'

/** How late an entry may fire. Unnoticeable in a wait of seconds, and 20 wake-ups a second cost nothing. */
export const wheelTickMs = 50

/** One turn of the wheel is 102 s, above the longest poll; an entry due later is looked at once per turn. */
const buckets = 2_048

/** Something due once. Extend it, and add it to at most one wheel. */
export abstract class WheelEntry {
  /** Monotonic, milliseconds. */
  dueMs = 0
  previousEntry: WheelEntry | undefined = undefined
  nextEntry: WheelEntry | undefined = undefined

  /** Called once when due; the entry is out of the wheel by then and may be added again. */
  abstract fire(nowMs: number): void

  /** The entity it concerns; undefined if there is none. */
  about(): ActorRef | undefined {
    return undefined
  }
}

/** An action to run once, later, for cases too rare to deserve an entry class of their own. */
export class Later extends WheelEntry {
  private readonly action: () => void
  private readonly subject: ActorRef | undefined

  constructor(action: () => void, subject?: ActorRef) {
    super()
    this.action = action
    this.subject = subject
  }

  override fire(): void {
    this.action()
  }

  override about(): ActorRef | undefined {
    return this.subject
  }
}

class Bucket extends WheelEntry {
  constructor() {
    super()
    this.previousEntry = this
    this.nextEntry = this
  }

  override fire(): void {}
}

export class TimerWheel {
  private readonly platform: Platform
  private readonly slots: readonly Bucket[] = Array.from({ length: buckets }, () => new Bucket())
  private readonly ringing = new Bucket()
  private readonly tick = () => this.ring()
  /** The last tick whose bucket was emptied. */
  private doneTick: number
  private armedTick = Number.POSITIVE_INFINITY
  private timer: unknown
  private count = 0
  private isClosed = false
  /** Receives what an entry threw; the other entries fire as usual. */
  private readonly failed: (entry: WheelEntry, error: unknown) => void

  constructor(platform: Platform, failed: (entry: WheelEntry, error: unknown) => void) {
    this.platform = platform
    this.failed = failed
    this.doneTick = Math.floor(platform.monotonicMs() / wheelTickMs)
  }

  get size(): number {
    return this.count
  }

  /** Fire the entry at `dueMs` (monotonic). A waiting entry moves there: linked twice, it would corrupt two buckets. */
  add(entry: WheelEntry, dueMs: number): void {
    if (this.isClosed) return
    this.remove(entry)
    entry.dueMs = dueMs
    if (this.count === 0) this.doneTick = Math.floor(this.platform.monotonicMs() / wheelTickMs)
    this.count++
    const tick = this.tickOf(dueMs)
    link(this.slots[tick % buckets]!, entry)
    if (tick < this.armedTick) this.arm(tick)
  }

  has({ nextEntry }: WheelEntry): boolean {
    return nextEntry !== undefined
  }

  /** Takes the entry out; an entry that is in no wheel is left alone. */
  remove(entry: WheelEntry): void {
    if (!this.has(entry)) return
    unlink(entry)
    this.count--
    if (this.count === 0) this.disarm()
  }

  /** Nothing fires any more, and entries added later are ignored. */
  close(): void {
    this.isClosed = true
    this.disarm()
    for (const slot of this.slots) while (slot.nextEntry !== slot) this.remove(slot.nextEntry!)
  }

  private tickOf(dueMs: number): number {
    const tick = Math.ceil(dueMs / wheelTickMs)
    return Math.min(Math.max(tick, this.doneTick + 1), this.doneTick + buckets - 1)
  }

  private ring(): void {
    this.timer = undefined
    this.armedTick = Number.POSITIVE_INFINITY
    const nowMs = this.platform.monotonicMs()
    const nowTick = Math.floor(nowMs / wheelTickMs)
    const firstTick = Math.max(this.doneTick + 1, nowTick - buckets + 1)
    for (let tick = firstTick; tick <= nowTick; tick++) moveAll(this.slots[tick % buckets]!, this.ringing)
    this.doneTick = Math.max(this.doneTick, nowTick)
    while (this.ringing.nextEntry !== this.ringing) {
      const entry = this.ringing.nextEntry!
      unlink(entry)
      this.count--
      if (entry.dueMs > nowMs) this.add(entry, entry.dueMs)
      else this.fire(entry, nowMs)
    }
    this.armNext()
  }

  private fire(entry: WheelEntry, nowMs: number): void {
    try {
      entry.fire(nowMs)
    } catch (error) {
      this.failed(entry, error)
    }
  }

  private armNext(): void {
    if (this.count === 0) return
    for (let tick = this.doneTick + 1; tick < this.armedTick && tick < this.doneTick + buckets; tick++) {
      const slot = this.slots[tick % buckets]!
      if (slot.nextEntry !== slot) this.arm(tick)
    }
  }

  private arm(tick: number): void {
    this.disarm()
    this.armedTick = tick
    this.timer = this.platform.setTimer(this.tick, Math.max(0, tick * wheelTickMs - this.platform.monotonicMs()))
  }

  private disarm(): void {
    if (this.timer !== undefined) this.platform.clearTimer(this.timer)
    this.timer = undefined
    this.armedTick = Number.POSITIVE_INFINITY
  }
}

function link(head: WheelEntry, entry: WheelEntry): void {
  const last = head.previousEntry!
  entry.previousEntry = last
  entry.nextEntry = head
  last.nextEntry = entry
  head.previousEntry = entry
}

function unlink(entry: WheelEntry): void {
  entry.previousEntry!.nextEntry = entry.nextEntry
  entry.nextEntry!.previousEntry = entry.previousEntry
  entry.previousEntry = undefined
  entry.nextEntry = undefined
}

function moveAll(from: WheelEntry, to: WheelEntry): void {
  if (from.nextEntry === from) return
  const first = from.nextEntry!
  const last = from.previousEntry!
  const end = to.previousEntry!
  end.nextEntry = first
  first.previousEntry = end
  last.nextEntry = to
  to.previousEntry = last
  from.nextEntry = from
  from.previousEntry = from
}
