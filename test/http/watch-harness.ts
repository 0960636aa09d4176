/**
 * A real server on a real port with the routes that read events, over a log in memory: the test decides when commits,
 * retention and revocations happen. Sockets, access checks and frames are the service's own.
 */

import { connect, type Socket as TcpSocket } from 'node:net'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { WebSocket } from 'ws'
import { AccessCheck } from '../../http/access.ts'
import { Admission } from '../../http/admission.ts'
import { BodyReader } from '../../http/bodies/body.ts'
import { PendingEntities } from '../../http/resources/pending-entities.ts'
import type { ServiceContext } from '../../http/route.ts'
import { Router } from '../../http/router.ts'
import { eventRoutes } from '../../http/routes/events.ts'
import { traceRoutes } from '../../http/routes/traces.ts'
import { watchRoutes } from '../../http/routes/watch.ts'
import { StaleHomeNotice } from '../../http/stale-home-notice.ts'
import { createServer } from '../../http/wire/uws.ts'
import type { ActorRef, SnapshotOf } from '../../machines/machine.ts'
import type { Principal, Principals } from '../../runtime/access/principals.ts'
import { rightsOf } from '../../runtime/access/rights.ts'
import type { CommitListener } from '../../runtime/api.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { ReadTurns } from '../../runtime/stream/read-turns.ts'
import { systemPlatform } from '../../storage/platform.ts'
import { FakeJournal } from '../runtime/stream/fake-log.ts'

/** A token's text is the name of its principal. */
class FakePrincipals implements Principals {
  readonly #byToken = new Map<string, Principal & { revoked: boolean; expiresAtMs: number | undefined }>()
  readonly #callbacks = new Map<Principal, Set<() => void>>()

  add(
    name: string,
    projects: '*' | readonly string[] = '*',
    role = 'viewer',
    kind: 'token' | 'runner' = 'token',
  ): void {
    this.#byToken.set(name, {
      kind,
      id: `tok_${name}`,
      name,
      by: { id: `tok_${name}`, name },
      rights: rightsOf([role], []),
      projects: projects === '*' ? '*' : new Set(projects),
      expiresAtMs: undefined,
      revoked: false,
    })
  }

  revoke(name: string, by: 'revocation' | 'expiry' = 'revocation'): void {
    const principal = this.#byToken.get(name)!
    if (by === 'revocation') principal.revoked = true
    else principal.expiresAtMs = 0
    for (const callback of [...(this.#callbacks.get(principal) ?? [])]) callback()
  }

  runTokenOf(): undefined {}

  /** The number of streams that listen for the end of that principal. */
  listening(name: string): number {
    return this.#callbacks.get(this.#byToken.get(name)!)?.size ?? 0
  }

  find(token: string): Principal | undefined {
    const principal = this.#byToken.get(token)
    return principal !== undefined && this.holds(principal) ? principal : undefined
  }

  holds(principal: Principal): boolean {
    return !principal.revoked && principal.expiresAtMs === undefined
  }

  onRevoked(principal: Principal, callback: () => void): () => void {
    const callbacks = this.#callbacks.get(principal) ?? new Set()
    this.#callbacks.set(principal, callbacks.add(callback))
    return () => callbacks.delete(callback)
  }

  readonly size = 0
  readonly nextExpiryMs = Number.POSITIVE_INFINITY

  isReplaced(): boolean {
    return false
  }

  isLastAdmin(): boolean {
    return false
  }

  takeUsed(): readonly string[] {
    return []
  }
}

const RUNNING = { isClosing: () => false, hasFailed: () => false }

export interface Harness {
  readonly log: FakeJournal
  readonly principals: FakePrincipals
  readonly port: number
  readonly url: string
  /** What `runtime.read` returns, by `kind/id`. */
  readonly actors: Map<string, { readonly value: string; readonly context: Record<string, unknown> }>
  /** Messages logged by the service. */
  readonly told: readonly string[]
  /** What the service does at the start of a graceful stop. */
  stopStreams(): void
  close(): void
  metrics(): Promise<string>
}

export async function startHarness(log = new FakeJournal()): Promise<Harness> {
  const principals = new FakePrincipals()
  principals.add('all')
  const actors: Harness['actors'] = new Map()
  const registry = new Registry()
  const closing: (() => void)[] = []
  const runtime = {
    journal: log,
    platform: systemPlatform,
    readTurns: new ReadTurns(systemPlatform),
    settings: { ...defaultSettings, home: '/nowhere' },
    onCommit: (listener: CommitListener) => log.onCommit((events, commit) => listener([], events, commit)),
    read: (ref: ActorRef) => actors.get(`${ref.kind}/${ref.id}`) as SnapshotOf<any> | undefined,
  }
  const told: string[] = []
  const logger: Logger = pino({}, { write: (line: string) => told.push(JSON.parse(line).msg) })
  const service = {
    runtime,
    principals,
    log: logger,
    staleHomeNotice: new StaleHomeNotice(logger),
    metrics: { registry },
    onClosing: (callback: () => void) => closing.push(callback),
  } as unknown as ServiceContext
  const server = createServer({ headerBytesMax: defaultSettings.headerBytesMax })
  new Router({
    routes: [...eventRoutes(service), ...traceRoutes(service), ...watchRoutes(service)],
    server,
    access: new AccessCheck(principals),
    bodies: new BodyReader(defaultSettings, systemPlatform),
    admission: new Admission({ waitMs: () => 0 }),
    pendingEntities: new PendingEntities(service.runtime, RUNNING),
    headerBytesMax: defaultSettings.headerBytesMax,
    log: service.log,
    ...RUNNING,
  })
  const port = await server.listen('127.0.0.1', 0)
  return {
    log,
    principals,
    port,
    url: `http://127.0.0.1:${port}`,
    actors,
    told,
    stopStreams: () => {
      for (const callback of closing) callback()
    },
    close: () => {
      for (const callback of closing) callback()
      server.close()
    },
    metrics: () => registry.metrics(),
  }
}

/** A frame as received. */
export interface Received {
  readonly type: string
  readonly cursor?: string
  readonly oldest?: string
  readonly events?: readonly Record<string, any>[]
  readonly problem?: Record<string, any>
}

/** Received frames in order; one can wait for a frame, and likewise for the end of the stream. */
export class Frames {
  readonly all: Received[] = []
  ended: { readonly code: number; readonly reason: string } | undefined
  #waiting: (() => void)[] = []

  push(frame: Received): void {
    this.all.push(frame)
    this.#wake()
  }

  end(code: number, reason: string): void {
    this.ended = { code, reason }
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const callback of waiting) callback()
  }

  /** Waits until the condition holds; after the time limit throws with what was received. */
  async until(condition: (frames: Frames) => boolean, limitMs = 10_000): Promise<this> {
    const untilMs = Date.now() + limitMs
    while (!condition(this)) {
      const leftMs = untilMs - Date.now()
      if (leftMs <= 0)
        throw new Error(
          `waited in vain; came: ${JSON.stringify(this.all).slice(0, 2_000)} ${JSON.stringify(this.ended)}`,
        )
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    return this
  }

  get ids(): readonly string[] {
    return this.all.flatMap((frame) => frame.events ?? []).map((event) => event.id)
  }

  get cursor(): string {
    return this.all.filter((frame) => frame.cursor !== undefined).at(-1)!.cursor!
  }
}

export interface Watching {
  readonly frames: Frames
  readonly socket: WebSocket
}

/** Opens a WebSocket. A refused upgrade rejects with the status and the problem. */
export function watchSocket(
  harness: Harness,
  query: string,
  token: string | readonly string[] = 'all',
  origin?: string,
): Promise<Watching> {
  const url = `ws://127.0.0.1:${harness.port}/api/watch${query}`
  const socket =
    typeof token === 'string'
      ? new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
      : new WebSocket(url, [...token], origin === undefined ? {} : { origin })
  const frames = new Frames()
  socket.on('message', (data, isBinary) => {
    if (isBinary) throw new Error('a frame is text')
    frames.push(JSON.parse(data.toString()))
  })
  socket.on('close', (code, reason) => frames.end(code, reason.toString()))
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve({ frames, socket }))
    socket.on('error', () => {})
    socket.on('unexpected-response', (request, response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        request.destroy()
        reject(Object.assign(new Error('refused'), { status: response.statusCode, problem: JSON.parse(text) }))
      })
    })
  })
}

export interface SseWatching {
  readonly frames: Frames
  readonly ids: (string | undefined)[]
  readonly types: (string | undefined)[]
  readonly response: Response
  close(): void
}

/** Opens a stream of server-sent events and parses it as an EventSource does. */
export async function watchSse(
  harness: Harness,
  query: string,
  headers: Record<string, string> = {},
): Promise<SseWatching> {
  const abort = new AbortController()
  const response = await fetch(`${harness.url}/api/watch${query}`, {
    headers: { authorization: 'Bearer all', accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  })
  const frames = new Frames()
  const watching: SseWatching = { frames, ids: [], types: [], response, close: () => abort.abort() }
  if (response.status === 200) void readSse(response, watching)
  return watching
}

async function readSse(response: Response, { frames, ids, types }: SseWatching): Promise<void> {
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body!) {
      rest += decoder.decode(chunk as Uint8Array, { stream: true })
      const blocks = rest.split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) takeBlock(block)
    }
    frames.end(0, 'end')
  } catch (error) {
    frames.end(1, String(error))
  }

  function takeBlock(block: string): void {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      const at = line.indexOf(': ')
      if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2))
    }
    const data = fields.get('data')
    if (data === undefined) return
    ids.push(fields.get('id'))
    types.push(fields.get('event'))
    frames.push(JSON.parse(data))
  }
}

/** A connection that sends the request and reads nothing until it is resumed. */
export function openDeaf(harness: Harness, request: string): TcpSocket {
  const socket = connect(harness.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write(request)
  return socket
}

/** A harness that is closed at the end of the test. */
export async function harnessFor(test: { teardown(callback: () => void): unknown }): Promise<Harness> {
  const harness = await startHarness()
  test.teardown(() => harness.close())
  return harness
}

/** Ids of the fake log's events, by sequence. */
export const idOf = (sequence: number): string => `evt_${sequence.toString(16).padStart(32, '0')}`
export const idsOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => idOf(from + i))
