/** The service's HTTP API, as the console uses it: JSON in and out, and every failure is one kind of error. */
import { aheadMs } from '../machines/instant.ts'
import type { Document, Problem, Query } from './document.ts'
import type { Open } from './live.ts'

/** An answer that takes longer is lost: the connection may be dead without anybody telling. */
const PATIENCE_MS = 30_000

/** The most that the service lists at once. */
export const LIST_LIMIT_MAX = 500

/** The service refused the request, or could not be reached. */
export class Refused extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title)
    this.problem = problem
  }
}

/** An address of the service, relative to that of the page: so it may be behind a path of a proxy. */
function serviceUrl(path: string, query: Query = {}): URL {
  const url = new URL(path, new URL('.', location.href))
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value))
  return url
}

export class Api {
  readonly token: string
  readonly #onUnauthorized: (problem: Problem) => void
  /** How far the service's clock is ahead of the browser's. */
  #aheadMs = 0

  /** `onUnauthorized` is called when the service does not accept the token. */
  constructor(token: string, onUnauthorized: (problem: Problem) => void) {
    this.token = token
    this.#onUnauthorized = onUnauthorized
  }

  /** The time by the clock of the service, by which ages count. */
  nowMs(): number {
    return Date.now() + this.#aheadMs
  }

  /** Reads a document. Paths are relative: `api/work-items`. Rejects with `Refused`. */
  async get(path: string, query?: Query): Promise<Document> {
    return await this.#send('GET', path, { query })
  }

  /**
   * Changes something. A create is sent with a key, so that it is made once even if it is sent again after its answer
   * was lost. With a version, it is done only if the document still has it.
   */
  async change(
    method: 'POST' | 'PATCH',
    path: string,
    body: Document,
    { idempotencyKey, version }: { idempotencyKey?: string | undefined; version?: number | undefined } = {},
  ): Promise<Document> {
    return await this.#send(method, path, { body, idempotencyKey, version })
  }

  async #send(
    method: string,
    path: string,
    {
      query,
      body,
      idempotencyKey,
      version,
    }: {
      query?: Query | undefined
      body?: Document
      idempotencyKey?: string | undefined
      version?: number | undefined
    },
  ): Promise<Document> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.token}`, accept: 'application/json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
    if (version !== undefined) headers['if-match'] = `"${version}"`
    const init: RequestInit = {
      ...{ method, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' },
      signal: AbortSignal.timeout(PATIENCE_MS),
    }
    const answer = await answerOf(
      serviceUrl(path, query),
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    )
    this.#aheadMs = aheadMs(answer.date, Date.now()) ?? this.#aheadMs
    if (answer.ok) return answer.body
    const problem = { title: `HTTP ${answer.status}`, ...answer.body, status: answer.status }
    if (answer.status === 401) this.#onUnauthorized(problem)
    throw new Refused(problem)
  }
}

interface Answer {
  readonly ok: boolean
  readonly status: number
  readonly date: string | null
  readonly body: Document
}

/** A proxy's answer may not be JSON: then there is only its status to show. */
async function answerOf(url: URL, init: RequestInit): Promise<Answer> {
  let answer: Response
  let text: string
  try {
    answer = await fetch(url, init)
    text = await answer.text()
  } catch {
    throw new Refused({ title: 'The service cannot be reached', status: 0 })
  }
  try {
    const { ok, status, headers } = answer
    return { ok, status, date: headers.get('date'), body: text === '' ? {} : JSON.parse(text) }
  } catch {
    throw new Refused({ title: `HTTP ${answer.status}, and not from the service`, status: answer.status })
  }
}

/** A new key for a create. (`crypto.randomUUID` exists only on pages from HTTPS or the same machine.) */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Opens the Watch stream (docs/EVENTS.md). */
export function watching(token: string): Open {
  return (since, { frame, end }, filter) => {
    const url = serviceUrl('api/watch', { ...filter, since })
    // Lists of types are long, and commas need no escape.
    url.search = url.search.replaceAll('%2C', ',')
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    const socket = new WebSocket(url, ['intendant.watch.v1', `bearer.${token}`])
    socket.onmessage = ({ data }) => frame(JSON.parse(data))
    socket.onclose = ({ code }) => end(code)
    return socket
  }
}
