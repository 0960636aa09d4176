/** The interface between the event stream and a watcher's connection. */
import type { Frame } from './frame.ts'

/** Fate of a frame: sent out or buffered by the kernel; accepted, but no more until drained; connection gone. */
export type Delivery = 'sent' | 'full' | 'gone'

/** Why the stream ends a subscription. */
export type StreamEnd =
  | { readonly code: 'cursor_too_old'; readonly detail: string; readonly oldest: string }
  /** The next events are in the log but cannot be read: they are damaged, or the disk does not give them. */
  | { readonly code: 'quarantined'; readonly detail: string }
  /** They cannot be read now, for lack of file handles or memory. */
  | { readonly code: 'overloaded'; readonly detail: string }
  | { readonly code: 'stalled' }
  | { readonly code: 'stopping' }

/** Receives a subscriber's frames: one connection. */
export interface Sink {
  /** Takes the whole frame or, if `gone`, none of it. After `full`, called again only once `drained` was. */
  send(frame: Frame): Delivery
  /** The last call that a sink gets. */
  end(end: StreamEnd): void
}

/** How the connection calls the stream. */
export interface Subscription {
  /** Everything that was buffered has been sent. */
  drained(): void
  /** Part of it has been sent. */
  progressed(): void
  /** The connection has ended. May be called twice. */
  close(): void
}
