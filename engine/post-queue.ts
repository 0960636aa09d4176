/**
 * The events of one run on their way to the service, in order. Three guarantees: an event leaves the queue only once
 * the service has taken or refused it; a refused event costs no other event; and the queue is bounded, so that while
 * the service is away the command slows down instead of its output being lost. The size of posts adapts to the line.
 */
import { ServiceRefused, ServiceUnreachable } from './errors.ts'
import { jsonText } from './json-text.ts'

const BATCH_EVENTS_MAX = 500
/** Half of what the service takes in one post of events. */
const BATCH_BYTES_MAX = 1024 * 1024
/** After a post answered sooner than this, in milliseconds, the next may be twice as large: its limit is 30 s. */
const QUICK_MS = 5_000
/** Growth of posts near a size that took too long: trying that size again costs as much time as before. */
const NEAR_GROWTH = 1 / 16
/** The command's output is paused above this ... */
const HELD_BYTES_HIGH = 4 * 1024 * 1024
/** ... and read again below this. */
const HELD_BYTES_LOW = 1024 * 1024

/** An event as it will be posted. Its text never changes, so that a repeated post is recognized by the event's id. */
export interface OutgoingEvent {
  readonly text: string
  readonly bytes: number
  /** Called once, when the service has taken it. */
  readonly onTaken?: () => void
  /** Called once, when the service has refused its content; what it returns is posted instead. */
  readonly onRefused?: (refusal: ServiceRefused) => readonly OutgoingEvent[]
}

export function outgoing(event: object, callbacks: Pick<OutgoingEvent, 'onTaken' | 'onRefused'> = {}): OutgoingEvent {
  const text = jsonText(event)
  return { text, bytes: Buffer.byteLength(text), ...callbacks }
}

interface PostQueueOptions {
  /**
   * Posts the JSON texts of events, retrying until a final answer. Resolves when they are taken; rejects with
   * ServiceRefused if the post is refused, with ServiceUnreachable if several events took too long.
   */
  readonly post: (texts: readonly string[]) => Promise<void>
  /** Most events in one post. */
  readonly batchMax?: number
  /** Whether a refusal concerns the whole run (stale attempt, settled, token) and not the posted content. */
  readonly concernsRun: (refusal: ServiceRefused) => boolean
  /** A post took too long, and is split in half. */
  readonly onSlow?: (error: ServiceUnreachable) => void
  /** The queue is above its bound (true), or has room again (false). */
  readonly onPressure: (full: boolean) => void
  /** For the service the run is over: the queue has dropped everything and stays empty. */
  readonly onEnded: (error: unknown) => void
}

export class PostQueue {
  readonly #options: PostQueueOptions
  #waiting: OutgoingEvent[] = []
  #heldBytes = 0
  /** Bound on the next post. */
  #batchBytesMax = BATCH_BYTES_MAX
  /** Size of a post that took too long; none as large has got through since. */
  #slowBytes = Number.POSITIVE_INFINITY
  #full = false
  #posting: Promise<void> | undefined
  #ended = false

  constructor(options: PostQueueOptions) {
    this.#options = options
  }

  add(event: OutgoingEvent): void {
    if (this.#ended) return
    this.#waiting.push(event)
    this.#held(event.bytes)
    this.#posting ??= this.#postAll()
  }

  /** Resolves when everything added so far is taken or refused. Never rejects. */
  async empty(): Promise<void> {
    while (this.#posting !== undefined) await this.#posting
  }

  async #postAll(): Promise<void> {
    // Waits one turn, so that everything in one chunk of output goes into one post.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      while (this.#waiting.length > 0) await this.#postBatch(this.#waiting.splice(0, this.#countOf(this.#waiting)))
    } catch (error) {
      this.#ended = true
      this.#waiting = []
      this.#held(-this.#heldBytes)
      this.#options.onEnded(error)
    } finally {
      this.#posting = undefined
    }
  }

  /** How many of the first events fit in one post. */
  #countOf(events: readonly OutgoingEvent[]): number {
    const { batchMax = BATCH_EVENTS_MAX } = this.#options
    let count = 0
    let bytes = 0
    for (const event of events) {
      bytes += event.bytes
      if (count > 0 && (count >= batchMax || bytes > this.#batchBytesMax)) break
      count += 1
    }
    return count
  }

  /**
   * The service takes a post as a whole or not at all, so a refused one is halved until the faulty event is alone. One
   * that took too long is sent again in smaller posts; the service may have received it, and recognizes repeated
   * events.
   */
  async #postBatch(batch: readonly OutgoingEvent[]): Promise<void> {
    const fromMs = performance.now()
    try {
      await this.#options.post(batch.map((event) => event.text))
    } catch (error) {
      if (batch.length > 1 && error instanceof ServiceUnreachable) {
        this.#shrink(batch, error)
        return await this.#postParts(batch)
      }
      if (!(error instanceof ServiceRefused) || this.#options.concernsRun(error)) throw error
      if (batch.length === 1) return await this.#replace(batch[0]!, error)
      const half = batch.length >> 1
      await this.#postParts(batch.slice(0, half))
      await this.#postParts(batch.slice(half))
      return
    }
    if (performance.now() - fromMs < QUICK_MS) this.#grow(batch)
    for (const event of batch) {
      this.#held(-event.bytes)
      event.onTaken?.()
    }
  }

  /** Sends the events in posts of the size that the line allows at the time. */
  async #postParts(batch: readonly OutgoingEvent[]): Promise<void> {
    for (let rest = batch; rest.length > 0; ) {
      const count = this.#countOf(rest)
      await this.#postBatch(rest.slice(0, count))
      rest = rest.slice(count)
    }
  }

  #shrink(batch: readonly OutgoingEvent[], error: ServiceUnreachable): void {
    this.#slowBytes = bytesOf(batch)
    this.#batchBytesMax = Math.ceil(this.#slowBytes / 2)
    this.#options.onSlow?.(error)
  }

  #grow(batch: readonly OutgoingEvent[]): void {
    const bytes = bytesOf(batch)
    if (bytes >= this.#slowBytes) this.#slowBytes = Number.POSITIVE_INFINITY
    const twice = bytes * 2
    // A post less than half full says nothing about larger ones.
    if (twice <= this.#batchBytesMax) return
    const larger = twice <= this.#slowBytes / 2 ? twice : this.#batchBytesMax * (1 + NEAR_GROWTH)
    this.#batchBytesMax = Math.min(BATCH_BYTES_MAX, Math.ceil(larger))
  }

  async #replace(event: OutgoingEvent, refusal: ServiceRefused): Promise<void> {
    this.#held(-event.bytes)
    for (const substitute of event.onRefused?.(refusal) ?? []) {
      this.#held(substitute.bytes)
      await this.#postBatch([substitute])
    }
  }

  #held(bytes: number): void {
    this.#heldBytes += bytes
    const full = this.#heldBytes > (this.#full ? HELD_BYTES_LOW : HELD_BYTES_HIGH)
    if (full === this.#full) return
    this.#full = full
    this.#options.onPressure(full)
  }
}

function bytesOf(batch: readonly OutgoingEvent[]): number {
  return batch.reduce((sum, { bytes }) => sum + bytes, 0)
}
