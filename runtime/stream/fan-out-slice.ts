/**
 * Bounds the time that one turn's fan-out may take. Hot: the clock is read only after some tens of small frames, or
 * after as much text as takes about as long.
 */
import type { Platform } from '../../storage/platform.ts'
import type { Frame } from './frame.ts'
import type { StreamLimits } from './limits.ts'
import type { Delivery, Sink } from './sink.ts'

/** A small frame counts as one unit, and a large one as one more for each of these. */
const UNIT_BYTES = 16 * 1024
/** Some 0.2 ms, if connections take what they are given. */
const UNITS_PER_LOOK = 32

export class FanOutSlice {
  readonly #platform: Pick<Platform, 'monotonicMs'>
  readonly #msMax: number
  #endMs = 0
  #units = 0
  /** Nothing more may be sent in this turn. */
  isOver = false

  constructor(platform: Pick<Platform, 'monotonicMs'>, { fanOutMsMax }: StreamLimits) {
    this.#platform = platform
    this.#msMax = fanOutMsMax
  }

  begin(): void {
    this.isOver = false
    this.#units = 0
    this.#endMs = this.#platform.monotonicMs() + this.#msMax
  }

  /** Sends the frame, and counts it. */
  sent(sink: Sink, frame: Frame): Delivery {
    const delivery = sink.send(frame)
    this.#units += 1 + frame.bytes.length / UNIT_BYTES
    if (this.#units >= UNITS_PER_LOOK) {
      this.#units = 0
      this.isOver = this.#platform.monotonicMs() >= this.#endMs
    }
    return delivery
  }
}
