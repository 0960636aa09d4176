/** The end of a command's output, as much as is quoted. */
import type { Readable } from 'node:stream'
import { MESSAGE_CHARS_MAX } from '../result.ts'

/** How much of a stream's output is kept, in characters. */
const HELD_CHARS = 64 * MESSAGE_CHARS_MAX

/** The end of a text, without half a surrogate pair at its start. */
export function endOf(text: string, chars: number = MESSAGE_CHARS_MAX): string {
  return text.slice(-chars).toWellFormed()
}

/** Reads a stream (UTF-8). Returns a function that returns the end of its text so far, trimmed. */
export function tailOf(stream: Readable): () => string {
  const decoder = new TextDecoder()
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    text = (text + decoder.decode(chunk, { stream: true })).slice(-HELD_CHARS)
  })
  return () => text.trim()
}

/**
 * Handler for `unpipe`: when a destination fails (disk full, reader gone), its source would otherwise stay paused for
 * good.
 */
export function goOn(source: Readable): void {
  source.resume()
}
