/** Reads an answer's body so that an abort ends it. */
import type { Readable } from 'node:stream'
import { AnswerBroken } from './errors.ts'

/** The chunks as they arrive. Throws the reason of `signal` as soon as it aborts, and AnswerBroken for an incomplete body. */
export async function* chunksOf(body: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const cut = (): void => void body.destroy(signal.reason)
  signal.addEventListener('abort', cut)
  try {
    signal.throwIfAborted()
    for await (const chunk of body) yield chunk
    signal.throwIfAborted()
  } catch (error) {
    signal.throwIfAborted()
    throw new AnswerBroken(error)
  } finally {
    signal.removeEventListener('abort', cut)
    body.destroy()
  }
}

/** The whole body as UTF-8 text. Calls `onChunk` for each part that arrives. */
export async function textOf(body: Readable, signal: AbortSignal, onChunk = (): void => {}): Promise<string> {
  const decoder = new TextDecoder()
  const parts: string[] = []
  for await (const chunk of chunksOf(body, signal)) {
    parts.push(decoder.decode(chunk, { stream: true }))
    onChunk()
  }
  return parts.join('') + decoder.decode()
}
