/** An answer that goes on: server-sent events, JSON lines. */
export interface Stream {
  /** False: the kernel's buffer is full; wait for `onWritable`. Nothing is lost either way. No-op after the end. */
  write(chunk: string | Uint8Array): boolean
  /** Called whenever what was buffered has gone out. One callback. */
  onWritable(callback: () => void): void
  /** End the answer properly. */
  end(): void
  /** Drop the connection. */
  close(): void
}
