/** The end of what a command prints: as much as is quoted of it. */
import type { Readable } from 'node:stream'
import { MESSAGE_CHARS_MAX } from '../result.ts'

/** How much of what a stream has printed is held, characters. */
const HELD_CHARS = 64 * MESSAGE_CHARS_MAX

/** The end of a text, without half of a character before it. */
export function endOf(text: string, chars: number = MESSAGE_CHARS_MAX): string {
  return text.slice(-chars).toWellFormed()
}

/** Reads a stream (UTF-8). Returns what tells its end so far, without the white space around it. */
export function tailOf(stream: Readable): () => string {
  const decoder = new TextDecoder()
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    text = (text + decoder.decode(chunk, { stream: true })).slice(-HELD_CHARS)
  })
  return () => text.trim()
}

/** For `unpipe`: a stream that takes no more (its disk is full, who reads it is gone) pauses for good what is piped into it. */
export function goOn(source: Readable): void {
  source.resume()
}
