/**
 * A single-file service for the runner's tests: node:http, with scripted state and misbehaviour on request. It keeps
 * all posts with their bodies in order for the test to read.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, createClient } from '../../engine/client.ts'

export interface Post {
  readonly path: string
  /** The last part of the path: `accepted`, `events`, `session`, ... */
  readonly verb: string
  readonly body: any
}

/**
 * What a test answers instead of the ordinary 200 at once: a problem, a page of something in between, late, never, or
 * `cut` to drop the connection, at once or after a while.
 */
type Misbehaviour =
  | { status: number; code: string; retryAfter?: number; state?: string }
  | { status: number; page: string }
  | { afterMs: number }
  | { cutAfterMs: number }
  | 'cut'
  | 'silence'
  | undefined

export interface StandIn {
  readonly client: Client
  readonly posts: Post[]
  /** Handed out to polls, first come first served. */
  readonly offers: Record<string, any>[]
  /** The lease length that it reports. */
  leaseMs: number
  /** The other limits that it reports. */
  limits: Readonly<Record<string, unknown>>
  /** Called before each post is taken, and before each poll (verb `next`). */
  misbehave: (post: Post) => Misbehaviour
  /** Merged into the answers to posts about this run. */
  readonly answers: Map<string, object>
  /** The compiled brief that it serves; undefined: 404. */
  brief: object | undefined
  /** Headers of the next poll answer, which ends a parked poll at once. */
  news(headers: Record<string, string>): void
  offer(request: Record<string, any>): void
  /** Posts with this verb, in order. */
  said(verb: string): Post[]
  /** All posted events, in order. */
  events(): any[]
  /** Resolves to the first post that matches, past or future. */
  until(matches: (post: Post) => boolean): Promise<Post>
  stop(): Promise<void>
  start(): Promise<void>
}

export function executionRequest(id: string, more: Record<string, any> = {}): Record<string, any> {
  return {
    schema_version: 'intendant.execution_request.v1',
    request_id: id,
    attempt: 1,
    project: { id: 'proj_1', key: 'demo' },
    engine: { entry_event: 'greet_requested', throttle: 'dry_run', access: 'full', payload: { name: 'Ada' } },
    trace: {
      trace_id: 'a'.repeat(32),
      span_id: 'b'.repeat(16),
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    },
    ...more,
  }
}

export async function standIn(): Promise<StandIn> {
  const posts: Post[] = []
  const offers: Record<string, any>[] = []
  const parked = new Set<ServerResponse>()
  const watchers: { matches: (post: Post) => boolean; resolve: (post: Post) => void }[] = []
  let server: Server
  let port = 0
  let newsHeaders: Record<string, string> | undefined
  let attempts = new Map<string, number>()

  function pump(): void {
    for (const response of parked) {
      const offer = offers.shift()
      if (offer === undefined && newsHeaders === undefined) return
      parked.delete(response)
      const headers = newsHeaders ?? {}
      newsHeaders = undefined
      if (offer === undefined) response.writeHead(204, headers).end()
      else {
        attempts = attempts.set(offer.request_id, offer.attempt)
        response.writeHead(200, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(offer))
      }
    }
  }

  /** Whether the post was answered by its misbehaviour. */
  function misbehaves(post: Post, response: ServerResponse): boolean {
    const fault = self.misbehave(post)
    if (fault === undefined) return false
    if (fault === 'silence') return true
    if (fault === 'cut') response.destroy()
    else if ('cutAfterMs' in fault) setTimeout(() => response.destroy(), fault.cutAfterMs)
    else if ('afterMs' in fault) setTimeout(() => take(post, response), fault.afterMs)
    else if ('page' in fault) response.writeHead(fault.status, { 'content-type': 'text/html' }).end(fault.page)
    else {
      const { status, code, retryAfter, state } = fault
      response.writeHead(status, {
        'content-type': 'application/problem+json',
        ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      })
      response.end(JSON.stringify({ type: 'x', title: code, status, detail: `refused: ${code}`, code, state }))
    }
    return true
  }

  function answerPost(post: Post, response: ServerResponse): void {
    if (!misbehaves(post, response)) take(post, response)
  }

  function take(post: Post, response: ServerResponse): void {
    posts.push(post)
    const id = post.path.split('/')[3] ?? ''
    const answer = {
      run_request: { id, attempt: attempts.get(id), engine_run_id: 'run_1', state: 'started' },
      cancel_requested: false,
      ...self.answers.get(id),
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    for (const watcher of watchers) if (watcher.matches(post)) watcher.resolve(post)
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?')[0]!
    if (request.method === 'GET' && path.startsWith('/api/formation-briefs/')) {
      response.writeHead(self.brief === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(self.brief ?? { code: 'not_found' }))
      return
    }
    if (path === '/api/version') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ limits: { lease_ms: self.leaseMs, ...self.limits } }))
      return
    }
    if (request.method === 'GET') {
      if (misbehaves({ path, verb: 'next', body: undefined }, response)) return
      parked.add(response)
      response.on('close', () => parked.delete(response))
      pump()
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    answerPost({ path, verb: path.split('/').pop()!, body: text === '' ? {} : JSON.parse(text) }, response)
  }

  const self: StandIn = {
    client: undefined as unknown as Client,
    posts,
    offers,
    misbehave: () => undefined,
    answers: new Map(),
    brief: undefined,
    leaseMs: 60_000,
    limits: {},
    news(headers) {
      newsHeaders = headers
      pump()
    },
    offer(request) {
      offers.push(request)
      pump()
    },
    said: (verb) => posts.filter((post) => post.verb === verb),
    events: () => posts.filter((post) => post.verb === 'events').flatMap((post) => post.body.events),
    until(matches) {
      const past = posts.find(matches)
      if (past !== undefined) return Promise.resolve(past)
      return new Promise((resolve) => watchers.push({ matches, resolve }))
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
    async start() {
      server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
      port = (server.address() as AddressInfo).port
    },
  }
  await self.start()
  Object.assign(self, {
    client: createClient({ url: `http://127.0.0.1:${port}`, token: () => 'token', userAgent: 'test' }),
  })
  return self
}
