/**
 * An answer's body, read so that an abort ends it. The signal of a fetch alone does not: Node 20 holds it weakly
 * once the headers are there, and after the next garbage collection an abort went unheard for ever (measured).
 */

/** The chunks as they arrive. Throws the reason of `signal`, at once, when that aborts. */
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

/** The whole body as text. UTF-8. `onChunk` is told that more of it has come. */
export async function textOf(response: Response, signal: AbortSignal, onChunk = (): void => {}): Promise<string> {
  const decoder = new TextDecoder()
  const parts: string[] = []
  for await (const chunk of chunksOf(response, signal)) {
    parts.push(decoder.decode(chunk, { stream: true }))
    onChunk()
  }
  return parts.join('') + decoder.decode()
}
