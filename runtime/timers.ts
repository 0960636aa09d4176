/**
 * Durable timers: rows of the view with an absolute due time, of which the near ones wait in memory. A timer
 * fires with its generation; its actor drops it when the generation is no longer the one it set.
 */
import type { ActorRef, MessageBody } from '../machines/machine.ts'
import type { Journal, TimerRow } from '../storage/journal.ts'
import { MinHeap } from './heap.ts'
import { timersPerReadMax, timerWindowMs } from './limits.ts'

export interface FiredTimer {
  readonly ref: ActorRef
  readonly name: string
  readonly generation: number
  readonly message: MessageBody
}

export class Timers {
  private readonly journal: Journal
  private readonly heap = new MinHeap<FiredTimer>()
  /** Everything due before this time is in memory. Wall clock, milliseconds. */
  private windowEndMs = 0

  constructor(journal: Journal) {
    this.journal = journal
  }

  get size(): number {
    return this.heap.size
  }

  /** Wall-clock time at which something is to be done next: a timer falls due, or the window moves on. */
  nextMs(): number {
    return Math.min(this.heap.peekKey() ?? Number.POSITIVE_INFINITY, this.windowEndMs)
  }

  /** A timer was committed. */
  add(ref: ActorRef, row: TimerRow): void {
    if (row.dueMs < this.windowEndMs) this.push(ref, row)
  }

  /** Takes out what is due, at most `limit`, reading the next window when the present one is used up. */
  takeDue(nowMs: number, limit: number, due: (timer: FiredTimer) => void): void {
    for (let taken = 0; taken < limit; taken++) {
      if (nowMs >= this.windowEndMs && (this.heap.peekKey() ?? Number.POSITIVE_INFINITY) >= this.windowEndMs)
        this.readWindow(nowMs)
      const key = this.heap.peekKey()
      if (key === undefined || key > nowMs) return
      due(this.heap.pop()!)
    }
  }

  private readWindow(nowMs: number): void {
    const toMs = Math.max(nowMs, this.windowEndMs) + timerWindowMs
    const rows = this.journal.timers(this.windowEndMs, toMs, timersPerReadMax)
    for (const row of rows) this.push({ kind: row.kind as ActorRef['kind'], id: row.id }, row)
    const last = rows[rows.length - 1]
    if (rows.length < timersPerReadMax || last === undefined) this.windowEndMs = toMs
    else this.windowEndMs = this.endOfCrowdedWindow(last.dueMs, toMs)
  }

  /**
   * The read was cut at its limit: the window ends after the last row's millisecond, of which the rest is read
   * too, so that no timer falls between two windows.
   */
  private endOfCrowdedWindow(lastDueMs: number, toMs: number): number {
    const end = Math.min(lastDueMs + 1, toMs)
    // Some of these are in memory already; the second fire of one is dropped by its actor, like any late one.
    for (const row of this.journal.timers(lastDueMs, end, Number.POSITIVE_INFINITY))
      this.push({ kind: row.kind as ActorRef['kind'], id: row.id }, row)
    return end
  }

  private push(ref: ActorRef, row: TimerRow): void {
    this.heap.push(row.dueMs, { ref, name: row.name, generation: row.generation, message: row.message as MessageBody })
  }
}
