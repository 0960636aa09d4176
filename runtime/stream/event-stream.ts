/**
 * The event stream that Watch reads. Each subscriber has a cursor into the log; nothing is queued for it. Subscribers
 * that have caught up share one evaluation and one encoding per turn; one whose connection is full is parked at its
 * cursor and later reads the log at its own pace. Invariant: every matching event after a subscriber's first cursor
 * reaches its sink exactly once and in order, or the subscription ends with a cursor to continue from.
 */
import type { Commit } from '../../storage/journal.ts'
import { readFault } from '../../storage/read-fault.ts'
import type { CommittedEvent, Platform } from '../api.ts'
import { Unsent } from '../collections/unsent.ts'
import { type Logger, silentLogger } from '../log.ts'
import { oldestCursor, tooOld } from './cursor.ts'
import { FanOutSlice } from './fan-out-slice.ts'
import type { Filter } from './filter.ts'
import { bookmarkFrame, type Frame, helloFrame } from './frame.ts'
import { Groups } from './groups.ts'
import { type StreamLimits, streamLimits } from './limits.ts'
import { type Chunk, type EventSource, frameEnd, frameOf, LogWindow } from './log-window.ts'
import type { ReadTurns } from './read-turns.ts'
import type { Delivery, Sink, StreamEnd, Subscription } from './sink.ts'
import { Unreadable } from './unreadable.ts'

type SubscriberState = 'live' | 'reading' | 'parked' | 'closed'

interface Subscriber {
  readonly filter: Filter
  readonly sink: Sink
  state: SubscriberState
  groupIndex: number
  /** Everything up to here was sent or does not match. Not kept current while live; `#published` holds then. */
  cursor: number
  /** The sequence that the last frame named, and when that was sent. */
  told: number
  toldMs: number
  parkedMs: number
  /** Its entry in the queue of readers; does nothing once the state is no longer `reading`. */
  readonly readOn: () => void
}

/** Numbers of watchers by state, for the metrics. */
interface StreamCounts {
  readonly live: number
  readonly reading: number
  readonly parked: number
}

export class EventStream {
  readonly #source: EventSource
  readonly #turns: ReadTurns
  readonly #platform: Platform
  readonly #limits: StreamLimits
  readonly #window: LogWindow
  readonly #unreadable: Unreadable
  readonly #groups = new Groups<Subscriber>()
  readonly #subscribers = new Set<Subscriber>()
  readonly #unsent: Unsent<Subscriber>
  readonly #slice: FanOutSlice
  /** Last sequence shown to live subscribers; the log may be further on. */
  #published: number
  #flushTimer: unknown
  #isFlushScheduled = false
  #flushNotBeforeMs = 0
  #tickTimer: unknown
  #isClosed = false

  /** Create it before the first commit is announced, so that none is missed. */
  constructor(source: EventSource, turns: ReadTurns, limits: StreamLimits = streamLimits, log: Logger = silentLogger) {
    const { platform } = turns
    this.#source = source
    this.#turns = turns
    this.#platform = platform
    this.#limits = limits
    this.#window = new LogWindow(source, limits)
    this.#unsent = new Unsent(limits.unsentBytesMax)
    this.#slice = new FanOutSlice(platform, limits)
    this.#unreadable = new Unreadable(platform, log)
    this.#published = source.lastSequence
  }

  /** A batch is on disk. Cheap: watchers are served in a turn of their own, after the replies. */
  committed(events: readonly CommittedEvent[], commit: Commit): void {
    if (this.#subscribers.size === 0) {
      // A later subscriber that asks for these events reads them from the log.
      this.#window.forget()
      this.#published = commit.lastSequence
      return
    }
    this.#window.commit(events)
    this.#scheduleFlush()
  }

  /**
   * Begin a subscription after the event with this sequence, which the log holds or has held until recently
   * (`placeOf`). The sink gets its hello before this returns.
   */
  subscribe(filter: Filter, after: number, sink: Sink): Subscription {
    const source = this.#source
    // The cursor may come from a commit that watchers have not been shown yet.
    if (after > this.#published) this.#flush()
    const nowMs = this.#platform.monotonicMs()
    const subscriber: Subscriber = {
      filter,
      sink,
      state: 'closed',
      groupIndex: -1,
      cursor: after,
      told: after,
      toldMs: nowMs,
      parkedMs: nowMs,
      readOn: () => this.#readOn(subscriber),
    }
    if (this.#isClosed) {
      sink.end({ code: 'stopping' })
    } else {
      this.#subscribers.add(subscriber)
      this.#startTicking()
      const hello = helloFrame(source, after, oldestCursor(source))
      const delivery = sink.send(hello)
      if (delivery === 'sent') this.#resume(subscriber)
      else this.#parkOrRemove(subscriber, delivery, hello)
    }
    return {
      drained: () => {
        if (subscriber.state !== 'parked') return
        this.#unsent.gone(subscriber)
        this.#resume(subscriber)
      },
      progressed: () => {
        subscriber.parkedMs = this.#platform.monotonicMs()
      },
      close: () => this.#remove(subscriber),
    }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Open subscriptions. */
  get size(): number {
    return this.#subscribers.size
  }

  counts(): StreamCounts {
    const counts = { live: 0, reading: 0, parked: 0 }
    for (const { state } of this.#subscribers) if (state !== 'closed') counts[state] += 1
    return counts
  }

  /** How many events the watcher furthest behind has not yet been sent or had ruled out. */
  lagEvents(): number {
    let last = Number.POSITIVE_INFINITY
    for (const { state, cursor } of this.#subscribers) {
      if (state !== 'closed') last = Math.min(last, state === 'live' ? this.#published : cursor)
    }
    return Math.max(0, this.#source.lastSequence - Math.min(last, this.#source.lastSequence))
  }

  /** Ends every subscription, after sending what was committed to those that can take it within one turn's time. */
  close(): void {
    if (this.#isClosed) return
    this.#flush()
    this.#isClosed = true
    this.#platform.clearTimer(this.#flushTimer)
    this.#platform.clearTimer(this.#tickTimer)
    for (const subscriber of [...this.#subscribers]) this.#end(subscriber, { code: 'stopping' })
  }

  // -- live ---------------------------------------------------------------------------------------------------

  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#isClosed) return
    this.#isFlushScheduled = true
    const waitMs = this.#flushNotBeforeMs - this.#platform.monotonicMs()
    if (waitMs <= 0) this.#platform.nextTurn(() => this.#scheduledFlush())
    else this.#flushTimer = this.#platform.setTimer(() => this.#scheduledFlush(), waitMs)
  }

  #scheduledFlush(): void {
    this.#isFlushScheduled = false
    if (this.#isClosed) return
    const startMs = this.#platform.monotonicMs()
    this.#flush()
    const endMs = this.#platform.monotonicMs()
    const { flushPauseShare, flushPauseMsMax } = this.#limits
    this.#flushNotBeforeMs = endMs + Math.min((endMs - startMs) * flushPauseShare, flushPauseMsMax)
  }

  /** Show the live subscribers what was committed since the last flush. */
  #flush(): void {
    const after = this.#published
    const through = this.#source.lastSequence
    if (after === through) return
    const events = this.#window.newest(after, through)
    if (events === undefined) {
      // More was committed than is kept in memory, or by someone else: every live subscriber reads it from the log.
      for (const subscriber of this.#subscribers) if (subscriber.state === 'live') this.#demote(subscriber, after)
    }
    this.#published = through
    if (events === undefined) return
    this.#slice.begin()
    for (const [group, chosen] of this.#groups.match(events)) {
      group.toldMs = this.#platform.monotonicMs()
      this.#fanOut(group.members, chosen, after)
    }
  }

  /** Members not served when the turn's time is over read the events from the log, in turns with others. */
  #fanOut(members: readonly Subscriber[], events: readonly CommittedEvent[], after: number): void {
    if (this.#slice.isOver) {
      for (let i = members.length - 1; i >= 0; i--) this.#demote(members[i]!, after)
      return
    }
    const frames: Frame[] = []
    for (let start = 0; start < events.length; ) {
      const end = frameEnd(events, start, this.#limits)
      frames.push(frameOf(this.#source, start === 0 && end === events.length ? events : events.slice(start, end))!)
      start = end
    }
    // Backwards: a member that leaves is replaced by the last one, which has been served already.
    for (let i = members.length - 1; i >= 0; i--) {
      const member = members[i]!
      if (this.#slice.isOver) {
        this.#demote(member, after)
        continue
      }
      let n = 0
      let delivery: Delivery = 'sent'
      while (n < frames.length && delivery === 'sent') delivery = this.#slice.sent(member.sink, frames[n++]!)
      const last = frames[n - 1]!
      member.told = last.sequence
      if (delivery === 'sent') continue
      member.cursor = n === frames.length ? this.#published : member.told
      this.#parkOrRemove(member, delivery, last)
    }
  }

  #demote(subscriber: Subscriber, cursor: number): void {
    this.#groups.leave(subscriber)
    subscriber.cursor = cursor
    this.#read(subscriber)
  }

  // -- from the log -------------------------------------------------------------------------------------------

  /** Continue: live if caught up, else by reading. */
  #resume(subscriber: Subscriber): void {
    if (subscriber.cursor === this.#published) {
      this.#join(subscriber)
      return
    }
    this.#read(subscriber)
  }

  #join(subscriber: Subscriber): void {
    const nowMs = this.#platform.monotonicMs()
    // A bookmark tells the end of a replay, even if its last events did not match.
    if (subscriber.told < this.#published && !this.#bookmark(subscriber, nowMs)) return
    subscriber.state = 'live'
    this.#groups.join(subscriber, nowMs)
  }

  #read(subscriber: Subscriber): void {
    subscriber.state = 'reading'
    this.#turns.enter(subscriber.readOn)
  }

  /** One page, then the other readers have their turn. */
  #readOn(subscriber: Subscriber): void {
    if (this.#isClosed || subscriber.state !== 'reading') return
    this.#readPage(subscriber)
    if (subscriber.state === 'reading') this.#turns.enter(subscriber.readOn)
  }

  #readPage(subscriber: Subscriber): void {
    if (subscriber.cursor === this.#published) {
      this.#join(subscriber)
      return
    }
    let chunk: Chunk | undefined
    try {
      chunk = this.#window.chunk(subscriber.cursor)
    } catch (error) {
      // Damage, or a disk that does not give the row, ends only the subscribers that need it. Thrown on from here it
      // would end the process, at each start.
      const fault = readFault(error)
      if (fault === undefined) throw error
      this.#unreadable.tell(error as Error, subscriber.cursor)
      const code = fault === 'short' ? 'overloaded' : 'quarantined'
      this.#end(subscriber, { code, detail: (error as Error).message })
      return
    }
    if (chunk === undefined) {
      const oldest = oldestCursor(this.#source)
      this.#end(subscriber, { code: 'cursor_too_old', detail: tooOld(this.#source), oldest })
      return
    }
    const through = Math.min(chunk.through, this.#published)
    const frame = chunk.frame(this.#source, subscriber.filter, subscriber.cursor, through)
    const nowMs = this.#platform.monotonicMs()
    subscriber.cursor = through
    if (frame !== undefined) this.#sendFromLog(subscriber, frame, nowMs)
    else if (nowMs - subscriber.toldMs >= this.#limits.readerBookmarkMs) this.#bookmark(subscriber, nowMs)
  }

  #bookmark(subscriber: Subscriber, nowMs: number): boolean {
    return this.#sendFromLog(subscriber, bookmarkFrame(this.#source, subscriber.cursor), nowMs)
  }

  /** @returns whether the subscriber can take more */
  #sendFromLog(subscriber: Subscriber, frame: Frame, nowMs: number): boolean {
    const delivery = subscriber.sink.send(frame)
    subscriber.told = frame.sequence
    subscriber.toldMs = nowMs
    if (delivery === 'sent') return true
    this.#parkOrRemove(subscriber, delivery, frame)
    return false
  }

  // -- coming and going ---------------------------------------------------------------------------------------

  /**
   * The connection takes no more for now, or is gone. If the unsent frames are too large in total, those that have
   * waited longest are ended, so that all others, and newcomers, have room.
   */
  #parkOrRemove(subscriber: Subscriber, delivery: Delivery, frame: Frame): void {
    if (delivery === 'gone') {
      this.#remove(subscriber)
      return
    }
    if (subscriber.state === 'live') this.#groups.leave(subscriber)
    subscriber.state = 'parked'
    subscriber.parkedMs = this.#platform.monotonicMs()
    this.#unsent.stays(subscriber, frame.bytes.length)
    for (let one = this.#unsent.excess; one !== undefined; one = this.#unsent.excess)
      this.#end(one, { code: 'stalled' })
  }

  #remove(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return
    this.#unsent.gone(subscriber)
    if (subscriber.state === 'live') this.#groups.leave(subscriber)
    subscriber.state = 'closed'
  }

  #end(subscriber: Subscriber, end: StreamEnd): void {
    this.#remove(subscriber)
    subscriber.sink.end(end)
  }

  #startTicking(): void {
    this.#tickTimer ??= this.#platform.setTimer(() => {
      this.#tickTimer = undefined
      if (this.#isClosed) return
      this.#tick()
      if (this.#subscribers.size > 0) this.#startTicking()
    }, this.#limits.tickMs)
  }

  #tick(): void {
    const nowMs = this.#platform.monotonicMs()
    const frame = bookmarkFrame(this.#source, this.#published)
    for (const group of [...this.#groups.all()]) {
      if (nowMs - group.toldMs < this.#limits.bookmarkMs) continue
      group.toldMs = nowMs
      for (let i = group.members.length - 1; i >= 0; i--) {
        const member = group.members[i]!
        const delivery = member.sink.send(frame)
        member.told = this.#published
        if (delivery === 'sent') continue
        member.cursor = this.#published
        this.#parkOrRemove(member, delivery, frame)
      }
    }
    for (const subscriber of [...this.#subscribers]) {
      if (subscriber.state !== 'parked' || nowMs - subscriber.parkedMs < this.#limits.stalledMs) continue
      this.#end(subscriber, { code: 'stalled' })
    }
  }
}
