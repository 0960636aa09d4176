/** A streamed answer: server-sent events, JSON lines. */
export interface Stream {
  /**
   * Returns false if the kernel's buffer is full: wait for `onWritable`. Nothing is lost either way. No-op after the
   * end.
   */
  write(chunk: string | Uint8Array): boolean
  /** Called whenever the buffered data has gone out. One callback. */
  onWritable(callback: () => void): void
  /** Ends the answer properly. */
  end(): void
  /** Drops the connection. */
  close(): void
}
