/**
 * Deadlines (offers and leases), in memory only, on the monotonic clock. None of this is written, so a heartbeat costs
 * no commit. At start, and after a period in which the service refused writes or stood still, each deadline restarts in
 * full length, so that no runner pays for the service's downtime.
 */
import type { ActorRef, Deadline } from '../../machines/machine.ts'
import { SweptHeap } from '../collections/swept-heap.ts'

interface Armed {
  readonly ref: ActorRef
  deadline: Deadline
  armedMs: number
  /** Monotonic due time; the heap may hold an earlier one and then reinserts the entry when it comes up. */
  dueMs: number
  live: boolean
  /** It was restarted because of a standstill, and nobody was heard since. */
  isSpared: boolean
  /** How often it was renewed or fell due: times alone do not tell, since two restarts may share a millisecond. */
  restarts: number
}

/**
 * Until when nobody could be heard, monotonic milliseconds: a deadline armed before that restarts in full length
 * instead of falling due. `stoodStillMs`: messages sent meanwhile lie in the sockets and are read next, so this is
 * granted only once until the runner is heard. Otherwise a service that keeps standing still would keep lost work for
 * ever.
 */
export interface Unheard {
  readonly refusedMs: number
  readonly stoodStillMs: number
}

const NONE: readonly Armed[] = []

export class Deadlines {
  private readonly heap = new SweptHeap<Armed>()
  private readonly byActor = new Map<string, readonly Armed[]>()

  /** Monotonic time of the earliest heap entry: never later than the earliest deadline. */
  nextMs(): number | undefined {
    return this.heap.peekKey()
  }

  /** Actors with a deadline. Like `entries`, for tests of what is kept in memory. */
  get size(): number {
    return this.byActor.size
  }

  /** Entries in memory, including those of ended deadlines. */
  get entries(): number {
    return this.heap.size
  }

  /** Replace the actor's deadlines by these: new ones start, missing ones end, others run on. */
  set(key: string, ref: ActorRef, deadlines: readonly Deadline[], nowMs: number): void {
    const armed = this.byActor.get(key) ?? NONE
    if (armed === NONE && deadlines.length === 0) return
    const next: Armed[] = []
    for (const deadline of deadlines) {
      const known = armed.find((one) => one.deadline.name === deadline.name && one.deadline.key === deadline.key)
      if (known === undefined) next.push(this.arm(ref, deadline, nowMs))
      else {
        known.deadline = deadline
        next.push(known)
      }
    }
    for (const one of armed) if (!next.includes(one)) this.heap.end(one)
    if (next.length > 0) this.byActor.set(key, next)
    else this.byActor.delete(key)
  }

  /** Restart, in full length, the actor's deadlines that a post of this type renews. */
  heard(key: string, type: string, nowMs: number): void {
    for (const one of this.byActor.get(key) ?? NONE) if (one.deadline.renewedBy.includes(type)) restart(one, nowMs)
  }

  /** Restart all of the actor's deadlines that any post renews. */
  renew(key: string, nowMs: number): void {
    for (const one of this.byActor.get(key) ?? NONE) if (one.deadline.renewedBy.length > 0) restart(one, nowMs)
  }

  /** Monotonic due time of a running deadline. */
  dueMs(key: string, name: string): number | undefined {
    return this.byActor.get(key)?.find((one) => one.deadline.name === name)?.dueMs
  }

  /** Takes out at most `limit` due deadlines; `isDue` later returns false if one was renewed or ended meanwhile. */
  takeDue(
    nowMs: number,
    unheard: Unheard,
    limit: number,
    due: (ref: ActorRef, deadline: Deadline, isDue: () => boolean) => void,
  ): void {
    for (let taken = 0; taken < limit; ) {
      const one = this.heap.takeUpTo(nowMs)
      if (one === undefined) return
      spare(one, unheard)
      if (one.dueMs > nowMs) {
        this.heap.push(one.dueMs, one)
        continue
      }
      // It stays armed, and falls due again after its full length, until a step of the actor ends it: a message
      // that was refused for lack of room must come again.
      restart(one, nowMs)
      this.heap.push(one.dueMs, one)
      taken++
      const { restarts } = one
      due(one.ref, one.deadline, () => one.live && one.restarts === restarts)
    }
  }

  private arm(ref: ActorRef, deadline: Deadline, nowMs: number): Armed {
    const armed = {
      ref,
      deadline,
      armedMs: nowMs,
      dueMs: nowMs + deadline.afterMs,
      live: true,
      isSpared: false,
      restarts: 0,
    }
    this.heap.push(armed.dueMs, armed)
    return armed
  }
}

function spare(armed: Armed, { refusedMs, stoodStillMs }: Unheard): void {
  if (armed.armedMs < refusedMs) restart(armed, refusedMs)
  if (armed.armedMs >= stoodStillMs || armed.isSpared) return
  restart(armed, stoodStillMs)
  armed.isSpared = true
}

function restart(armed: Armed, nowMs: number): void {
  armed.armedMs = nowMs
  armed.dueMs = nowMs + armed.deadline.afterMs
  armed.isSpared = false
  armed.restarts++
}
