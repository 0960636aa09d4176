/**
 * The parts of the log that watchers read repeatedly: the newest events as they were committed, and the last few pages
 * read from disk. However many watchers are behind at the same place, a page is read, filtered and encoded once for
 * all of them. Bounded in events and in text, whatever the number of watchers.
 */
import type { EventPage } from '../../storage/journal.ts'
import type { LogIdentity } from '../../storage/log/log-identity.ts'
import type { CommittedEvent } from '../api.ts'
import type { LogRange } from './cursor.ts'
import type { Filter } from './filter.ts'
import { eventsFrame, type Frame } from './frame.ts'
import type { StreamLimits } from './limits.ts'

/** What the stream needs of the journal. */
export interface EventSource extends LogRange {
  events(afterSequence: number, limit: number, bytesMax: number): EventPage
}

type LogEvent = CommittedEvent | { readonly sequence: number; readonly text: string }

/** The events in (after, through], as many as fit one frame. */
export class Chunk {
  readonly after: number
  readonly through: number
  readonly #events: readonly LogEvent[]
  readonly #framesMax: number
  readonly #frames = new Map<string, Frame | undefined>()

  constructor(after: number, events: readonly LogEvent[], framesMax: number) {
    this.after = after
    this.#framesMax = framesMax
    this.#events = events
    this.through = after + events.length
  }

  holds(after: number): boolean {
    return this.after <= after && after < this.through
  }

  /** The frame of what the filter lets through in (after, through]; undefined if nothing. */
  frame(log: LogIdentity, filter: Filter, after: number, through: number): Frame | undefined {
    const isWhole = after === this.after && through === this.through
    if (isWhole && this.#frames.has(filter.key)) return this.#frames.get(filter.key)
    const part = isWhole ? this.#events : this.#events.slice(after - this.after, through - this.after)
    const chosen = filter.matchesAll ? part : part.filter((event) => filter.lets(event))
    const frame = frameOf(log, chosen)
    if (isWhole && this.#frames.size < this.#framesMax) this.#frames.set(filter.key, frame)
    return frame
  }
}

/** One frame of these events, whatever their size; undefined for none. */
export function frameOf(log: LogIdentity, events: readonly LogEvent[]): Frame | undefined {
  const last = events.at(-1)
  if (last === undefined) return undefined
  return eventsFrame(log, last.sequence, events)
}

/** The end (exclusive) of the events from `start` on that make one frame. At least one event. */
export function frameEnd(events: readonly LogEvent[], start: number, limits: StreamLimits): number {
  let end = start
  let chars = 0
  while (end < events.length && end - start < limits.frameEventsMax) {
    chars += events[end]!.text.length
    if (chars > limits.frameCharsMax && end > start) break
    end += 1
  }
  return end
}

/** Placeholder for an event that is no longer kept; it is never read. */
const LET_GO: CommittedEvent = { sequence: 0, text: '', event_type: '', project: '', trace_id: null }

export class LogWindow {
  readonly #source: EventSource
  readonly #limits: StreamLimits
  /** Newest first. */
  #chunks: Chunk[] = []
  /** Contiguous from `#tailStart` on; before that, placeholders of events that were dropped. */
  #tail: CommittedEvent[] = []
  #tailStart = 0
  #tailChars = 0

  constructor(source: EventSource, limits: StreamLimits) {
    this.#source = source
    this.#limits = limits
  }

  /** Takes newly committed events. Starts over if they do not follow the tail (someone else wrote to the log). */
  commit(events: readonly CommittedEvent[]): void {
    if (events.length === 0) return
    const last = this.#tail.at(-1)
    if (last !== undefined && events[0]!.sequence !== last.sequence + 1) this.#clearTail()
    for (const event of events) {
      this.#tail.push(event)
      this.#tailChars += event.text.length
    }
    this.#trimTail()
  }

  /** Nobody watches: keep nothing. */
  forget(): void {
    if (this.#tail.length > 0) this.#clearTail()
    if (this.#chunks.length > 0) this.#chunks = []
  }

  /** Committed events in (after, through]; undefined if the tail does not hold all of them. */
  newest(after: number, through: number): readonly CommittedEvent[] | undefined {
    const at = this.#tailIndex(after)
    if (at === undefined) return undefined
    const end = at + through - after
    if (end > this.#tail.length) return undefined
    return this.#tail.slice(at, end)
  }

  /**
   * The events right after a place that is not yet the end of the log.
   * @returns undefined if they have left the log (retention)
   */
  chunk(after: number): Chunk | undefined {
    for (const chunk of this.#chunks) if (chunk.holds(after)) return chunk
    const chunk = this.#tailChunk(after) ?? this.#pageChunk(after)
    if (chunk === undefined) return undefined
    this.#chunks.unshift(chunk)
    if (this.#chunks.length > this.#limits.pagesMax) this.#chunks.pop()
    return chunk
  }

  #tailIndex(after: number): number | undefined {
    const first = this.#tail[this.#tailStart]
    if (first === undefined || after + 1 < first.sequence) return undefined
    return this.#tailStart + after + 1 - first.sequence
  }

  #tailChunk(after: number): Chunk | undefined {
    const at = this.#tailIndex(after)
    if (at === undefined || at >= this.#tail.length) return undefined
    return this.#chunkOf(after, this.#tail.slice(at, frameEnd(this.#tail, at, this.#limits)))
  }

  #pageChunk(after: number): Chunk | undefined {
    const page = this.#source.events(after, this.#limits.frameEventsMax, this.#limits.frameCharsMax)
    const first = page.events[0]
    if (page.oldestSequence > after + 1) return undefined
    if (first === undefined)
      throw new Error(`the log ends at ${page.lastSequence}, but a commit after ${after} was reported`)
    if (first.sequence !== after + 1) throw new Error(`the log has a gap after sequence ${after}`)
    return this.#chunkOf(after, page.events)
  }

  #chunkOf(after: number, events: readonly LogEvent[]): Chunk {
    return new Chunk(after, events, this.#limits.pageFramesMax)
  }

  #trimTail(): void {
    const tail = this.#tail
    const { tailEventsMax, tailCharsMax } = this.#limits
    while (tail.length - this.#tailStart > tailEventsMax || this.#tailChars > tailCharsMax) {
      this.#tailChars -= tail[this.#tailStart]!.text.length
      // Dropped at once: until the array is cut, thousands of large events would be held, more than the heap.
      tail[this.#tailStart] = LET_GO
      this.#tailStart += 1
    }
    if (this.#tailStart < tailEventsMax && this.#tailStart < tail.length) return
    this.#tail = tail.slice(this.#tailStart)
    this.#tailStart = 0
  }

  #clearTail(): void {
    this.#tail = []
    this.#tailStart = 0
    this.#tailChars = 0
  }
}
