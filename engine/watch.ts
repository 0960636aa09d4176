/**
 * Follows Watch indefinitely: server-sent events over one long answer, resumed after the last cursor whenever the
 * connection breaks. A caller sees each matching event once and in order, and never the break.
 */
import { chunksOf } from './body.ts'
import type { Client, QueryValue } from './client.ts'
import { AnswerBroken, type Problem, ServiceRefused, ServiceUnreachable } from './errors.ts'
import { type Backoff, DEFAULT_BACKOFF, mayHelp, mayHelpInTime, pause, pauseAfter } from './retry.ts'

/** Milliseconds without a frame; bookmarks come every 10 s. */
const SILENCE_MS = 35_000

export type WatchFrame =
  | { readonly type: 'hello'; readonly cursor: string; readonly oldest: string }
  | { readonly type: 'events'; readonly cursor: string; readonly events: readonly Record<string, any>[] }
  | { readonly type: 'bookmark'; readonly cursor: string }
  | { readonly type: 'error'; readonly problem: Problem }

interface WatchOptions {
  readonly client: Client
  /** A cursor, `latest` or `earliest`. */
  readonly since: string
  /** Watch's filters. */
  readonly filters?: Readonly<Record<string, QueryValue>>
  readonly signal: AbortSignal
  readonly backoff?: Backoff
  /** A stream that is silent for this long is considered dead, in milliseconds. */
  readonly silenceMs?: number
  /** Called when the stream broke, before it is resumed. */
  readonly onBreak?: (error: Error, pauseMs: number) => void
}

/**
 * Every frame but errors, in order, indefinitely. Throws the ServiceRefused that says why it cannot go on (cursor too
 * old, token revoked); returns when `signal` aborts.
 */
export async function* watch(
  options: WatchOptions,
): AsyncGenerator<Exclude<WatchFrame, { readonly type: 'error' }>, void, void> {
  let since = options.since
  let tries = 0
  let isHeard = false
  while (!options.signal.aborted) {
    try {
      for await (const frame of watchOnce(options, since)) {
        tries = 0
        isHeard = true
        if (frame.type === 'error') throw new ServiceRefused('GET', '/api/watch', frame.problem)
        since = frame.cursor
        yield frame
      }
      throw new ServiceUnreachable(options.client.url, new Error('the stream ended'))
    } catch (error) {
      if (options.signal.aborted) return
      // At first, another server's answer may mean that the service is not there at all; later, that it is away.
      const isWorthwhile = isHeard ? mayHelpInTime : mayHelp
      if (!(error instanceof Error) || !isWorthwhile(error)) throw error
      tries += 1
      const pauseMs = pauseAfter(error, tries, options.backoff ?? DEFAULT_BACKOFF, Math.random())
      options.onBreak?.(error, pauseMs)
      await pause(pauseMs, options.signal).catch(() => {})
    }
  }
}

/** One connection's frames. Ends when the connection does; throws ServiceUnreachable if it breaks. */
async function* watchOnce(options: WatchOptions, since: string): AsyncGenerator<WatchFrame, void, void> {
  const { client, filters, signal, silenceMs = SILENCE_MS } = options
  const connection = new AbortController()
  const onAbort = () => connection.abort(signal.reason)
  signal.addEventListener('abort', onAbort)
  let silence = setTimeout(onSilence, silenceMs)
  function onSilence(): void {
    connection.abort(new Error(`nothing received for ${silenceMs / 1000} s`))
  }
  try {
    const body = await client.stream('/api/watch', {
      query: { ...filters, since },
      headers: { accept: 'text/event-stream' },
      signal: connection.signal,
    })
    const frames = new SseFrames()
    const decoder = new TextDecoder()
    for await (const chunk of chunksOf(body, connection.signal)) {
      clearTimeout(silence)
      for (const data of frames.push(decoder.decode(chunk, { stream: true }))) yield JSON.parse(data) as WatchFrame
      // Not restarted earlier: the time that the caller takes is no silence of the service.
      silence = setTimeout(onSilence, silenceMs)
    }
  } catch (error) {
    if (signal.aborted) return
    // The service's own errors are passed on; a broken or silent connection counts as unreachable.
    if (error instanceof AnswerBroken || connection.signal.aborted) throw new ServiceUnreachable(client.url, error)
    throw error
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', onAbort)
    connection.abort()
  }
}

/**
 * The `data` of each event in a text/event-stream (HTML standard, section 9.2); comments and other fields are skipped.
 */
export class SseFrames {
  #rest = ''
  #data: string[] = []

  push(text: string): string[] {
    const frames: string[] = []
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      const field = line.endsWith('\r') ? line.slice(0, -1) : line
      if (field.startsWith('data:')) this.#data.push(field.slice(field.startsWith('data: ') ? 6 : 5))
      else if (field === '' && this.#data.length > 0) {
        frames.push(this.#data.join('\n'))
        this.#data = []
      }
    }
    return frames
  }
}
