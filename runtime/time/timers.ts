/**
 * Durable timers: rows of the view with an absolute due time; the near ones are also held in memory. A cancelled or
 * replaced timer does not fire, so its actor is not loaded for it. A timer fires with its generation; the actor drops
 * one that is no longer the generation it set, in case that one had already left the heap.
 */
import { FIRST_INSTANT_MS } from '../../machines/instant.ts'
import type { ActorRef, MessageBody } from '../../machines/machine.ts'
import type { Journal, TimerRow } from '../../storage/journal.ts'
import { type Entry, SweptHeap } from '../collections/swept-heap.ts'
import { timersPerReadMax, timersStuckMs, timerWindowMs } from '../limits.ts'
import type { ActorRecord } from '../record.ts'

type KnownTimers = ActorRecord['timers']
type ReadRow = ReturnType<Journal['timers']>[number]

export interface FiredTimer {
  readonly ref: ActorRef
  readonly name: string
  readonly generation: number
  readonly message: MessageBody
}

type Waiting = FiredTimer & Entry

export class Timers {
  private readonly journal: Pick<Journal, 'timers'>
  private readonly readMax: number
  private readonly heap = new SweptHeap<Waiting>()
  /** The heap's live entries, by actor and name. */
  private readonly waiting = new Map<string, Waiting>()
  /**
   * Everything due before this time is in memory. Wall clock, milliseconds. Starts at the earliest representable time,
   * because timers set before 1970 are due, too.
   */
  private windowEndMs = FIRST_INSTANT_MS
  /**
   * Timers due in the millisecond at which the window ends that are already in memory, or have fired but are not used
   * up. A read cut at its limit ends within a millisecond, and the next one, from the same place, skips these.
   */
  private readonly taken = new Set<string>()
  /** Wall-clock time at which more of that millisecond is read, however many of them are not used up yet. */
  private stuckAtMs = 0

  constructor(journal: Pick<Journal, 'timers'>, readMax: number = timersPerReadMax) {
    this.journal = journal
    this.readMax = readMax
  }

  /** Timers in memory, including cancelled ones until their time. */
  get size(): number {
    return this.heap.size
  }

  /** Wall-clock time of the next thing to do: a timer falls due, or the window moves on. */
  nextMs(): number {
    const dueMs = this.heap.peekKey() ?? Number.POSITIVE_INFINITY
    if (dueMs <= this.windowEndMs) return dueMs
    return this.isUsedUp ? this.windowEndMs : Math.max(this.windowEndMs, this.stuckAtMs)
  }

  /** A committed step replaced `before` by `after`: the timers gone are used up, cancelled or replaced. */
  committed({ kind, id }: ActorRef, before: KnownTimers, after: KnownTimers): void {
    // Most steps change no timers and keep the same object.
    if (before === after) return
    for (const [name, known] of Object.entries(before)) {
      const isGone = after[name]?.generation !== known.generation
      // Timers beyond the window are not in memory.
      if (isGone && known.dueMs <= this.windowEndMs) this.end(keyOf(kind, id, name), known)
    }
  }

  /** A timer was committed. One beyond the window is read when the window moves on. */
  add(ref: ActorRef, row: TimerRow): void {
    if (row.dueMs < this.windowEndMs) this.push(ref, row)
  }

  /** Takes out at most `limit` due timers, and reads the next window when the present one is used up. */
  takeDue(nowMs: number, limit: number, due: (timer: FiredTimer) => void): void {
    for (let taken = 0; taken < limit; taken++) {
      const isEmpty = (this.heap.peekKey() ?? Number.POSITIVE_INFINITY) > this.windowEndMs
      if (isEmpty && nowMs >= this.windowEndMs) {
        if (!this.isUsedUp && nowMs < this.stuckAtMs) return
        this.readWindow(nowMs)
      }
      const timer = this.heap.takeUpTo(nowMs)
      if (timer === undefined) return
      this.waiting.delete(keyOf(timer.ref.kind, timer.ref.id, timer.name))
      due(timer)
    }
  }

  private end(key: string, { dueMs, generation }: KnownTimers[string]): void {
    if (dueMs === this.windowEndMs) this.taken.delete(key)
    const timer = this.waiting.get(key)
    // Otherwise it has already fired.
    if (timer?.generation !== generation) return
    this.waiting.delete(key)
    this.heap.end(timer)
  }

  /** Most of the timers read of the window's last millisecond are used up. */
  private get isUsedUp(): boolean {
    return this.taken.size <= this.readMax / 2
  }

  private readWindow(nowMs: number): void {
    const { taken } = this
    const toMs = Math.max(nowMs, this.windowEndMs) + timerWindowMs
    // As many are skipped, so at least `readMax` others are read.
    const limit = this.readMax + taken.size
    const rows = this.journal.timers(this.windowEndMs, toMs, limit)
    for (const row of rows) if (!this.isTaken(row)) this.push({ kind: row.kind as ActorRef['kind'], id: row.id }, row)
    const endMs = rows.length < limit ? toMs : rows[limit - 1]!.dueMs
    if (endMs > this.windowEndMs) taken.clear()
    this.windowEndMs = endMs
    this.stuckAtMs = nowMs + timersStuckMs
    for (const { dueMs, kind, id, name } of rows) if (dueMs === endMs) taken.add(keyOf(kind, id, name))
  }

  private isTaken({ dueMs, kind, id, name }: ReadRow): boolean {
    return dueMs === this.windowEndMs && this.taken.has(keyOf(kind, id, name))
  }

  private push(ref: ActorRef, row: TimerRow): void {
    const { name, generation } = row
    const timer = { ref, name, generation, message: row.message as MessageBody, live: true }
    this.heap.push(row.dueMs, timer)
    this.waiting.set(keyOf(ref.kind, ref.id, name), timer)
  }
}

function keyOf(kind: string, id: string, name: string): string {
  return `${kind}/${id}/${name}`
}
