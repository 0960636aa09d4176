/**
 * Reads an answer's body so that an abort ends it. The signal given to fetch is not enough: once the headers have
 * arrived, Node 20 holds it weakly, and after the next garbage collection an abort went unnoticed forever (measured).
 */

/** The chunks as they arrive. Throws the reason of `signal` as soon as it aborts. */
export async function* chunksOf(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancel)
  try {
    signal.throwIfAborted()
    for (;;) {
      const { value, done } = await reader.read()
      // A cancelled body looks like one that has ended.
      signal.throwIfAborted()
      if (done) return
      yield value
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** The whole body as UTF-8 text. Calls `onChunk` for each part that arrives. */
export async function textOf(response: Response, signal: AbortSignal, onChunk = (): void => {}): Promise<string> {
  const decoder = new TextDecoder()
  const parts: string[] = []
  for await (const chunk of chunksOf(response, signal)) {
    parts.push(decoder.decode(chunk, { stream: true }))
    onChunk()
  }
  return parts.join('') + decoder.decode()
}
