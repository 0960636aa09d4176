/**
 * How the command line and the runner talk to the service: only over HTTP. A call returns a 2xx answer or throws
 * ServiceRefused or ServiceUnreachable; it never retries (retry.ts does).
 */
import { Readable } from 'node:stream'
import { textOf } from './body.ts'
import {
  AnswerTimeout,
  ForeignRefusal,
  type Problem,
  Redirected,
  ServiceRefused,
  ServiceUnreachable,
  TokenUnsendable,
} from './errors.ts'
import { isProxied, type Proxies, throughProxies } from './proxy.ts'
import { direct, type Incoming, type Transport } from './transport.ts'

/** The version of the HTTP interface that this client was written for. */
const API_VERSION = '1'
/** Default time for an answer to begin, in milliseconds. */
export const ANSWER_MS_DEFAULT = 30_000
const DOTS_ALONE = /(^|\/)(\.|%2e){1,2}(\/|$)/i

interface ClientOptions {
  /** The service's address: `http://HOST:PORT`. A path in it is put before each request's path. */
  readonly url: string
  /** Read before each request, so that a rotated token takes effect without a restart. */
  readonly token: () => string | undefined
  /** Shown in the service's log. */
  readonly userAgent: string
  /** Origin of a person's changes: sent with every request that may change something. */
  readonly origin?: string
  /** Absent: the service is asked directly. */
  readonly proxies?: Proxies
  /** The only certificate to accept from the service (PEM). Absent: any that names it and has a trusted issuer. */
  readonly certificate?: string
  /** Called with the headers of each answer of the service that is no refusal. */
  readonly heard?: (headers: Answer['headers']) => void
}

/** A list is sent separated by commas. */
export type QueryValue = string | number | boolean | readonly string[] | undefined

interface RequestOptions {
  readonly query?: Readonly<Record<string, QueryValue>>
  /** Sent as JSON. A string is taken as JSON text, an async iterable is streamed. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Limit for the answer to begin, and for each pause until it is complete, in milliseconds. */
  readonly answerMs?: number
}

export interface Answer {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** The parsed JSON body; undefined if there is none. */
  readonly body: any
}

export interface Client {
  readonly url: string
  /**
   * Throws TokenUnsendable, ServiceRefused, ServiceUnreachable (AnswerTimeout), or the reason of `signal` if that ended
   * it.
   */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** Like `request`, but returns the body as a stream; the caller must read it to its end or abort `signal`. */
  stream(path: string, options: RequestOptions & { readonly signal: AbortSignal }): Promise<Readable>
}

export function createClient(options: ClientOptions): Client {
  const base = options.url.replace(/\/+$/, '')
  const transportOf = transportTo(new URL(base), options.proxies, options.certificate)

  async function send(
    method: string,
    path: string,
    request: RequestOptions,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<Incoming> {
    const url = urlOf(method, path)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const body = method === 'GET' ? request.body : withOrigin(method, url, request.body)
    const headers: Record<string, string> = {
      'api-version': API_VERSION,
      'user-agent': options.userAgent,
      accept: 'application/json, application/problem+json',
      ...request.headers,
    }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    if (body !== undefined) headers['content-type'] ??= 'application/json'
    const transport = await transportOf()
    const answer = await transport(url, { method, headers, body: sendable(body), signal })
    if (answer.status >= 200 && answer.status < 300) {
      options.heard?.(answer.headers)
      return answer
    }
    const place = redirection(url, answer)
    if (place !== undefined) {
      answer.body.destroy()
      throw new Redirected(base, place)
    }
    throw refusal(method, path, answer, await textOf(answer.body, signal))
  }

  /** A path segment of dots alone would lead elsewhere, and no id looks like that. */
  function urlOf(method: string, path: string): URL {
    if (!DOTS_ALONE.test(path)) return new URL(base + path)
    throw new ServiceRefused(method, path, { status: 404, code: 'not_found', detail: `${path} does not exist.` })
  }

  /** Puts the origin into the query of a DELETE or an upload, and into the body of anything else. */
  function withOrigin(method: string, url: URL, body: unknown): unknown {
    const { origin } = options
    if (origin === undefined || typeof body === 'string') return body
    if (method !== 'DELETE' && !isStreamed(body)) return { ...(body as object | undefined), origin }
    url.searchParams.set('origin', origin)
    return body
  }

  return {
    url: base,

    async request(method, path, request = {}) {
      const token = sendableToken(options.token())
      const limit = new AbortController()
      const tooLate = new Error('the response took too long')
      const timer = setTimeout(() => limit.abort(tooLate), request.answerMs ?? ANSWER_MS_DEFAULT)
      // Not AbortSignal.any: on Node 20 it keeps every dependent of a long-lived signal in memory.
      const onAbort = () => limit.abort(request.signal?.reason)
      request.signal?.addEventListener('abort', onAbort)
      const fromMs = performance.now()
      try {
        request.signal?.throwIfAborted()
        const { status, headers, body } = await send(method, path, request, token, limit.signal)
        // Each chunk restarts the timer: a large page may take long on a slow line.
        const text = await textOf(body, limit.signal, () => timer.refresh())
        return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
      } catch (error) {
        if (error instanceof ServiceRefused || error instanceof Redirected) throw error
        if (request.signal?.aborted) throw request.signal.reason
        const afterMs = performance.now() - fromMs
        throw limit.signal.reason === tooLate
          ? new AnswerTimeout(base, tooLate, afterMs)
          : new ServiceUnreachable(base, error, afterMs)
      } finally {
        clearTimeout(timer)
        request.signal?.removeEventListener('abort', onAbort)
      }
    },

    async stream(path, request) {
      const token = sendableToken(options.token())
      try {
        return (await send('GET', path, request, token, request.signal)).body
      } catch (error) {
        if (error instanceof ServiceRefused || error instanceof Redirected) throw error
        if (request.signal.aborted) throw request.signal.reason
        throw new ServiceUnreachable(base, error)
      }
    },
  }
}

/**
 * Returns what sends requests to this address, made on first use.
 * @param certificate the only certificate (PEM) to accept
 */
export function transportTo(url: URL, proxies: Proxies | undefined, certificate?: string): () => Promise<Transport> {
  let made: Promise<Transport> | undefined
  const make = () =>
    proxies !== undefined && isProxied(url, proxies) ? throughProxies(proxies, certificate) : direct(url, certificate)
  return () => {
    made ??= make()
    return made
  }
}

/** Throws TokenUnsendable itself, since the error that Node.js throws for such a header contains the token. */
function sendableToken(token: string | undefined): string | undefined {
  if (token === undefined || isToken(token)) return token
  throw new TokenUnsendable()
}

/** Whether a header can carry it (RFC 6750: `b64token`, and any other visible character). */
export function isToken(text: string): boolean {
  return /^[!-~]+$/.test(text)
}

function isStreamed(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

function sendable(body: unknown): string | Readable | undefined {
  if (isStreamed(body)) return Readable.from(body)
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
}

/** A longer address is cut in messages. */
const PLACE_CHARS_MAX = 200

/** The address to which a redirect points, without the requested path. */
function redirection(asked: URL, { status, headers }: Incoming): string | undefined {
  const location = headers.get('location')
  if (status < 300 || status > 399 || location === undefined || !URL.canParse(location, asked.href)) return undefined
  const { origin, pathname, search } = new URL(location, asked)
  const place = `${origin}${pathname}${search}`
  const rest = asked.pathname + asked.search
  return (place.endsWith(rest) ? place.slice(0, -rest.length) : place).slice(0, PLACE_CHARS_MAX)
}

function refusal(method: string, path: string, { status, headers }: Incoming, text: string): ServiceRefused {
  const retryAfterSeconds = retryAfterSecondsOf(headers)
  const problem = problemIn(status, text)
  if (problem !== undefined) return new ServiceRefused(method, path, problem, retryAfterSeconds)
  return new ForeignRefusal(method, path, problemMadeUp(status, text), retryAfterSeconds)
}

/** Seconds from `Retry-After`; undefined if there is none, or it is a date. */
export function retryAfterSecondsOf(headers: Incoming['headers']): number | undefined {
  const after = Number(headers.get('retry-after'))
  return Number.isFinite(after) && after > 0 ? after : undefined
}

/** The problem in an answer's body, if it is one of the service's. */
function problemIn(status: number, text: string): Problem | undefined {
  try {
    const body = JSON.parse(text)
    if (typeof body === 'object' && body !== null && typeof body.code === 'string') return { ...body, status }
  } catch {
    // Not JSON; perhaps a proxy's page.
  }
  return undefined
}

function problemMadeUp(status: number, text: string): Problem {
  const shown = text.trim().slice(0, 200)
  return {
    status,
    code: `http_${status}`,
    detail: shown === '' ? `HTTP status ${status} without an explanation` : shown,
  }
}
