/** A connection that takes a number of frames and is then full until the test drains it. Keeps what it was sent. */

import type { Frame } from '../../../runtime/stream/frame.ts'
import type { Delivery, Sink, StreamEnd, Subscription } from '../../../runtime/stream/sink.ts'

export interface SeenFrame {
  readonly type: string
  readonly cursor: string
  readonly oldest?: string
  readonly events?: readonly { readonly id: string; readonly event_type: string; readonly project: string }[]
}

export class FakeSink implements Sink {
  readonly frames: SeenFrame[] = []
  readonly raw: Frame[] = []
  ended: StreamEnd | undefined
  subscription: Subscription | undefined
  isGone = false
  isFull = false
  /** How many frames it takes before it is full. */
  room: number

  constructor(room = Number.POSITIVE_INFINITY) {
    this.room = room
  }

  send(frame: Frame): Delivery {
    if (this.ended !== undefined) throw new Error('sent after the end')
    if (this.isFull) throw new Error('sent although full')
    if (this.isGone) return 'gone'
    this.raw.push(frame)
    this.frames.push(JSON.parse(frame.bytes.toString()))
    this.room -= 1
    if (this.room > 0) return 'sent'
    this.isFull = true
    return 'full'
  }

  end(end: StreamEnd): void {
    if (this.ended !== undefined) throw new Error('ended twice')
    this.ended = end
  }

  drain(room: number): void {
    this.room = room
    this.isFull = false
    this.subscription?.drained()
  }

  get cursor(): string {
    return this.frames.at(-1)!.cursor
  }

  /** Ids of all events seen, in the order in which they came. */
  get ids(): readonly string[] {
    return this.frames.flatMap((frame) => frame.events ?? []).map((event) => event.id)
  }
}
