/**
 * Splits a command's output: bytes into lines, and lines into events, documents or plain text. No byte is dropped: a
 * line that is too long to hold, or does not end, is passed on in pieces.
 */
import { StringDecoder } from 'node:string_decoder'
import { OUTPUT_BYTES_MAX } from '../machines/bounds.ts'
import { takesMoreThan } from '../machines/utf8.ts'
import { isObject } from './execution-request.ts'

/** Longest line read as a whole, in characters: the largest event that the service takes is 512 KiB. */
export const LINE_CHARS_MAX = 512 * 1024

export interface Line {
  readonly text: string
  /** False for every piece of a line that was too long, or did not end in time. */
  readonly whole: boolean
  /**
   * False for all but the last piece of such a line, which continues in the next, and for a last line without a line
   * feed.
   */
  readonly ended: boolean
}

/**
 * Splits a stream of bytes into lines without their line feeds; with one after each ended line they are the original,
 * including a carriage return before a line feed. UTF-8; invalid bytes become U+FFFD.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8')
  /** Parts of the open line. A list, so that a long line is not copied repeatedly. */
  #parts: string[] = []
  #chars = 0
  /** Whether pieces of the current line have been passed on. */
  #cut = false

  push(chunk: Buffer): Line[] {
    return this.#take(this.#decoder.write(chunk))
  }

  /** Whether a line is open. */
  get isWithin(): boolean {
    return this.#chars > 0
  }

  /**
   * What has arrived of the open line, as a piece of it. Nothing if it may still become an event or a document, which
   * is read whole.
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

/** Kinds of document by `schema_version`. */
const DOCUMENTS: Readonly<Record<string, 'result' | 'trace_summary' | 'observation'>> = {
  run_result: 'result',
  trace_summary: 'trace_summary',
  evidence_observation: 'observation',
}

/**
 * What a line of standard output is: a JSON object with a string `event_type` is an event; one with the
 * `schema_version` of a Run Result, trace summary or observation is that document; everything else is text.
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
    // 10xxxxxx continues a character: step back to where it begins.
    while (to < bytes.length && to > from && (bytes[to]! & 0xc0) === 0x80) to -= 1
    pieces.push(bytes.toString('utf8', from, to))
    from = to
  }
  return pieces
}
