/**
 * What a command writes, taken apart: bytes to lines, and lines to events, documents, or plain text. No byte
 * is dropped: a line too long to be held, or that does not end, is passed on in pieces.
 */
import { StringDecoder } from 'node:string_decoder'
import { OUTPUT_BYTES_MAX } from '../machines/bounds.ts'
import { takesMoreThan } from '../machines/utf8.ts'
import { isObject } from './execution-request.ts'

/** Longest line that is read as one, characters: an event of 512 KiB is the largest that the service takes. */
export const LINE_CHARS_MAX = 512 * 1024

export interface Line {
  readonly text: string
  /** False for every piece of a line that was too long, or did not end in time. */
  readonly whole: boolean
  /** False for all but the last piece of such a line: the line goes on in the next. And for a last line that has no end. */
  readonly ended: boolean
}

/**
 * Splits a stream of bytes into lines without the line feeds at their ends: put together again they are what was written, a carriage
 * return before a line feed too. UTF-8; invalid bytes become U+FFFD.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8')
  /** Parts of the line that has no end yet. A list, so that a long line costs no repeated copying. */
  #parts: string[] = []
  #chars = 0
  /** Whether pieces of the present line have been handed out. */
  #cut = false

  push(chunk: Buffer): Line[] {
    return this.#take(this.#decoder.write(chunk))
  }

  /** Whether a line has begun that has no end yet. */
  get isWithin(): boolean {
    return this.#chars > 0
  }

  /**
   * What has come of the line that has no end yet, as a piece of it. Not where that may still become an event or a
   * document, which is read whole.
   */
  begun(): Line[] {
    const text = this.#join('')
    const isText = this.#cut || /^[^{]/.test(text.trimStart())
    if (!isText) this.#hold(text)
    if (!isText || text === '') return []
    this.#cut = true
    return [{ text, whole: false, ended: false }]
  }

  /** The last line, if it had no end. */
  end(): Line[] {
    const lines = this.#take(this.#decoder.end())
    if (this.#chars > 0) lines.push({ ...this.#finish(''), ended: false })
    return lines
  }

  #take(text: string): Line[] {
    const lines: Line[] = []
    let from = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      lines.push(this.#finish(text.slice(from, end)))
      from = end + 1
    }
    const rest = text.slice(from)
    if (rest === '') return lines
    this.#hold(rest)
    if (this.#chars > LINE_CHARS_MAX) {
      lines.push({ text: this.#join(''), whole: false, ended: false })
      this.#cut = true
    }
    return lines
  }

  #hold(text: string): void {
    this.#parts.push(text)
    this.#chars += text.length
  }

  #finish(tail: string): Line {
    const text = this.#join(tail)
    const whole = !this.#cut
    this.#cut = false
    return { text, whole, ended: true }
  }

  #join(tail: string): string {
    const text = this.#parts.join('') + tail
    this.#parts = []
    this.#chars = 0
    return text
  }
}

type Reading =
  | { readonly kind: 'event'; readonly event: Record<string, unknown> & { readonly event_type: string } }
  | { readonly kind: 'result' | 'trace_summary' | 'observation'; readonly said: Record<string, unknown> }
  | { readonly kind: 'text' }

/** What a line says by its `schema_version`. */
const DOCUMENTS: Readonly<Record<string, 'result' | 'trace_summary' | 'observation'>> = {
  run_result: 'result',
  trace_summary: 'trace_summary',
  evidence_observation: 'observation',
}

/**
 * What a line of standard output says: a JSON object with a string `event_type` is an event; one whose `schema_version`
 * is that of a Run Result, a trace summary or an observation is that; everything else is text.
 */
export function readLine(line: string): Reading {
  if (!line.trimStart().startsWith('{')) return { kind: 'text' }
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return { kind: 'text' }
  }
  if (!isObject(value)) return { kind: 'text' }
  if (typeof value.event_type === 'string') return { kind: 'event', event: value as never }
  const kind = documentOf(String(value.schema_version))
  return kind === undefined ? { kind: 'text' } : { kind, said: value }
}

function documentOf(schemaVersion: string): 'result' | 'trace_summary' | 'observation' | undefined {
  const [, name = ''] = /^intendant\.([a-z_]+)\.v1(?:\.|$)/.exec(schemaVersion) ?? []
  return Object.hasOwn(DOCUMENTS, name) ? DOCUMENTS[name] : undefined
}

/** Whether a `schema_version` is that of a Run Result. */
export function isRunResult(schemaVersion: string): boolean {
  return documentOf(schemaVersion) === 'result'
}

/** Cuts a text into pieces of at most `bytesMax` UTF-8 bytes, never within a character. */
export function cutText(text: string, bytesMax: number = OUTPUT_BYTES_MAX): string[] {
  if (text === '') return []
  if (!takesMoreThan(text, bytesMax)) return [text]
  const bytes = Buffer.from(text)
  const pieces: string[] = []
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + bytesMax, bytes.length)
    // 10xxxxxx continues a character: step back to where one begins.
    while (to < bytes.length && to > from && (bytes[to]! & 0xc0) === 0x80) to -= 1
    pieces.push(bytes.toString('utf8', from, to))
    from = to
  }
  return pieces
}
