/**
 * Sends spans to an OpenTelemetry collector: OTLP 1.x over HTTP, as JSON. What the collector may take later is sent
 * until it does; only what it refuses for good ends the command.
 */
import { textOf } from '../engine/body.ts'
import { retryAfterSecondsOf, transportTo } from '../engine/client.ts'
import { ServiceRefused, ServiceUnreachable } from '../engine/errors.ts'
import type { Proxies } from '../engine/proxy.ts'
import { type Backoff, retrying } from '../engine/retry.ts'
import type { Transport } from '../engine/transport.ts'
import { CliFailure, EXIT } from './exit.ts'
import type { CollectorSettings } from './otel-settings.ts'
import type { Attributes, Span } from './otel-spans.ts'
import { streamBreaks } from './stream-breaks.ts'
import { VERSION } from './version.ts'

/** Spans in one request. */
const SPANS_MAX = 500
/** The statuses after which the same request may be sent again (OTLP 1.x, OTLP/HTTP Response). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 30_000 }
/** How much of a refusal is shown. */
const REFUSAL_CHARS_MAX = 300
const SPAN_KIND_INTERNAL = 1
const STATUS_CODE_ERROR = 2
const NANOS_PER_MS = 1_000_000n

class CollectorRefused extends ServiceRefused {
  constructor(endpoint: URL, status: number, text: string, retryAfterSeconds: number | undefined) {
    const said = text.trim().slice(0, REFUSAL_CHARS_MAX)
    const detail = `${endpoint.href} refused the spans with status ${status}${said === '' ? '' : `: ${said}`}`
    super('POST', endpoint.pathname, { status, code: `http_${status}`, detail }, retryAfterSeconds)
  }
}

export class Collector {
  readonly #settings: CollectorSettings
  readonly #transport: () => Promise<Transport>
  readonly #note: (text: string) => void
  readonly #backoff: Backoff

  constructor(settings: CollectorSettings, proxies: Proxies, note: (text: string) => void, backoff: Backoff = BACKOFF) {
    this.#settings = settings
    this.#transport = transportTo(settings.endpoint, proxies)
    this.#note = note
    this.#backoff = backoff
  }

  /**
   * The collector has them when it returns. Throws CliFailure if it refuses them for good, and the reason of `signal` if
   * they are not all sent by then: a request under way is left to end.
   */
  async send(spans: readonly Span[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < spans.length; from += SPANS_MAX) {
      signal.throwIfAborted()
      await this.#sendAll(spans.slice(from, from + SPANS_MAX), signal)
    }
  }

  async #sendAll(spans: readonly Span[], signal: AbortSignal): Promise<void> {
    const body = JSON.stringify(requestOf(spans, this.#settings.resource))
    const breaks = streamBreaks(this.#note)
    const mayHelp = (error: unknown): boolean =>
      error instanceof ServiceUnreachable || (error instanceof CollectorRefused && RETRYABLE.has(error.problem.status))
    const patience = { signal, mayHelp, backoff: this.#backoff, onRetry: breaks.broke }
    try {
      const answer = await retrying(() => this.#post(body), patience)
      breaks.heard()
      this.#noteRejected(answer)
    } catch (error) {
      if (error instanceof CollectorRefused) throw new CliFailure(`${error.message}.`, EXIT.failed, error)
      throw error
    }
  }

  /** The text of the answer. Throws CollectorRefused or ServiceUnreachable. */
  async #post(body: string): Promise<string> {
    const { endpoint, headers, answerMs } = this.#settings
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new Error('the response took too long')), answerMs)
    try {
      const transport = await this.#transport()
      const answer = await transport(endpoint, {
        method: 'POST',
        headers: { 'user-agent': `intendant/${VERSION}`, ...headers, 'content-type': 'application/json' },
        body,
        signal: limit.signal,
      })
      const text = await textOf(answer.body, limit.signal)
      if (answer.status >= 200 && answer.status < 300) return text
      throw new CollectorRefused(endpoint, answer.status, text, retryAfterSecondsOf(answer.headers))
    } catch (error) {
      if (error instanceof CollectorRefused) throw error
      throw new ServiceUnreachable(endpoint.href, limit.signal.aborted ? limit.signal.reason : error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** A collector may take the request and reject some of its spans, which must not be sent again. */
  #noteRejected(answer: string): void {
    try {
      const { partialSuccess: { rejectedSpans = 0, errorMessage = '' } = {} } = JSON.parse(answer)
      if (Number(rejectedSpans) > 0) this.#note(`the collector rejected ${rejectedSpans} spans: ${errorMessage}`)
      else if (errorMessage !== '') this.#note(`the collector says: ${errorMessage}`)
    } catch {
      // Not JSON: it has said nothing of the spans.
    }
  }
}

/** An ExportTraceServiceRequest (opentelemetry-proto, JSON Protobuf Encoding). */
function requestOf(spans: readonly Span[], resource: Readonly<Record<string, string>>): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'intendant', version: VERSION }, spans: spans.map(spanOf) }],
      },
    ],
  }
}

function spanOf(span: Span): object {
  const { traceId, spanId, parentSpanId, link, name, startAt, endAt, attributes, moments, error } = span
  const [start, end] = [nanos(startAt), nanos(endAt)]
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: SPAN_KIND_INTERNAL,
    startTimeUnixNano: String(start),
    // Clocks of runners and of the service differ.
    endTimeUnixNano: String(end < start ? start : end),
    attributes: attributesOf(attributes),
    events: moments.map((moment) => ({ name: moment.name, timeUnixNano: String(nanos(moment.at)) })),
    links: link === undefined ? [] : [link],
    status: error === undefined ? {} : { code: STATUS_CODE_ERROR, message: error },
  }
}

function attributesOf(attributes: Attributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValueOf(value) }],
  )
}

function anyValueOf(value: NonNullable<Attributes[string]>): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value !== 'number') return { arrayValue: { values: value.map(anyValueOf) } }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Nanoseconds since the epoch of a time as RFC 3339: Date.parse leaves out what is below a millisecond. */
function nanos(time: string): bigint {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? ''
  const belowMs = fraction.slice(3, 9).padEnd(6, '0')
  return BigInt(Date.parse(time)) * NANOS_PER_MS + BigInt(belowMs)
}
