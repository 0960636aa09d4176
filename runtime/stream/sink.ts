/** What the event stream and a watcher's connection say to each other. */
import type { Frame } from './frame.ts'

/** What became of a frame: gone out or buffered by the kernel; taken, but nothing more until drained; nobody there. */
export type Delivery = 'sent' | 'full' | 'gone'

/** Why the stream ends a subscription. */
export type StreamEnd =
  | { readonly code: 'cursor_too_old'; readonly detail: string; readonly oldest: string }
  /** The log has what comes next, and it cannot be read: its bytes are not what was written, or the disk does not give them. */
  | { readonly code: 'quarantined'; readonly detail: string }
  /** It cannot be read now, for want of files or memory. */
  | { readonly code: 'overloaded'; readonly detail: string }
  | { readonly code: 'stalled' }
  | { readonly code: 'stopping' }

/** Where a subscriber's frames go: one connection. */
export interface Sink {
  /** Takes the whole frame or, when `gone`, none of it. Called again only after `drained`, if it says `full`. */
  send(frame: Frame): Delivery
  /** The last call that a sink gets. */
  end(end: StreamEnd): void
}

/** What the connection tells the stream. */
export interface Subscription {
  /** Everything that was buffered has gone out. */
  drained(): void
  /** Some of it has. */
  progressed(): void
  /** The connection has ended. May be said twice. */
  close(): void
}
