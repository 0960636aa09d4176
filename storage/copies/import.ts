/**
 * Imports events from JSON lines, streamed. A line that cannot be read is yielded with its place in the file, and
 * reading goes on (SPEC 6.17 rule 6). What a line means, and whether it is new, is the caller's decision.
 */
import { createReadStream } from 'node:fs'

export type ImportLine =
  | { readonly ok: true; readonly line: number; readonly offset: number; readonly event: Record<string, unknown> }
  | { readonly ok: false; readonly line: number; readonly offset: number; readonly reason: string }

/** Longer than any event that the service accepts. It keeps a file without line breaks out of memory. */
const LINE_BYTES_MAX = 16 * 1024 * 1024
const LINE_FEED = 0x0a
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Lines count from 1; `offset` is the byte at which the line begins. Skips blank lines. Rejects if the file cannot be
 * read.
 */
export async function* readEvents(path: string): AsyncGenerator<ImportLine> {
  let line = 1
  let offset = 0
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start)
      const part = chunk.subarray(start, end === -1 ? chunk.length : end)
      bytes += part.length
      if (bytes <= LINE_BYTES_MAX) parts.push(part)
      else parts = []
      if (end === -1) break
      const read = parseLine(parts, bytes, line, offset)
      if (read !== undefined) yield read
      offset += bytes + 1
      line += 1
      parts = []
      bytes = 0
      start = end + 1
    }
  }
  const last = parseLine(parts, bytes, line, offset)
  if (last !== undefined) yield last
}

function parseLine(parts: readonly Buffer[], bytes: number, line: number, offset: number): ImportLine | undefined {
  if (bytes > LINE_BYTES_MAX) return { ok: false, line, offset, reason: `longer than ${LINE_BYTES_MAX} bytes` }
  try {
    const text = decoder.decode(Buffer.concat(parts))
    if (text.trim() === '') return undefined
    const event: unknown = JSON.parse(text)
    if (typeof event !== 'object' || event === null || Array.isArray(event)) {
      return { ok: false, line, offset, reason: 'not a JSON object' }
    }
    return { ok: true, line, offset, event: event as Record<string, unknown> }
  } catch (error) {
    return { ok: false, line, offset, reason: (error as Error).message }
  }
}
