/**
 * Gathers plain output lines into `run_output` events, so that a chatty command costs few events and a quiet one is
 * still seen at once: a batch is passed on when it is full, when it is old, or when an event line follows it.
 */
import { OUTPUT_BYTES_MAX } from '../machines/bounds.ts'
import { occurredAt } from './clock.ts'
import { describeRefusal } from './errors.ts'
import { cutText } from './output.ts'
import { type OutgoingEvent, outgoing } from './post-queue.ts'

/** Longest that a line waits for others, in milliseconds. */
const BATCH_MS = 250
/** An output event refused although it is no longer than this, in UTF-8 bytes, is not refused for its length. */
const HALVED_BYTES_MIN = 256

export type OutputStream = 'stdout' | 'stderr'

/**
 * Output as an event. If the service, or a proxy before it, refuses it as too large, it is split in half.
 * @param onLost told, in words, what is refused all the same
 */
export function outputEvent(stream: OutputStream, text: string, onLost: (what: string) => void): OutgoingEvent {
  const event = { event_type: 'run_output', occurred_at: occurredAt(), payload: { stream, text } }
  return outgoing(event, {
    onRefused(refusal) {
      const bytes = Buffer.byteLength(text)
      if (refusal.problem.status === 413 && bytes > HALVED_BYTES_MIN)
        return cutText(text, Math.ceil(bytes / 2)).map((half) => outputEvent(stream, half, onLost))
      onLost(`${bytes} bytes of output were lost, refused by the service: ${describeRefusal(refusal)}`)
      return []
    },
  })
}

export class OutputBatch {
  readonly #give: (stream: OutputStream, text: string) => void
  #stream: OutputStream = 'stdout'
  #lines: string[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  /** `give` gets texts of at most 64 KiB, made of whole lines with their ends unless a line is longer. */
  constructor(give: (stream: OutputStream, text: string) => void) {
    this.#give = give
  }

  /** Adds a line, or a piece of one (`ended` is false if the line continues in the next piece). */
  add(stream: OutputStream, line: string, ended: boolean): void {
    if (stream !== this.#stream) this.flush()
    this.#stream = stream
    const text = ended ? `${line}\n` : line
    const bytes = Buffer.byteLength(text)
    if (this.#bytes + bytes > OUTPUT_BYTES_MAX) this.flush()
    this.#lines.push(text)
    this.#bytes += bytes
    if (this.#bytes >= OUTPUT_BYTES_MAX) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), BATCH_MS)
  }

  /** Passes on what is held, now. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#lines.length === 0) return
    const text = this.#lines.join('')
    this.#lines = []
    this.#bytes = 0
    for (const piece of cutText(text)) this.#give(this.#stream, piece)
  }
}
