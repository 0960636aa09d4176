/**
 * A whole service on a real port, with a journal in memory unless asked otherwise, and a client that checks every
 * answer against the service's own `/openapi.json`: an undocumented answer fails the test that caused it.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import { type Service, type ServiceOptions, startService } from '../../http/service.ts'
import { defaultSettings, type Settings } from '../../runtime/settings.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import '../folders-last.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { type Documented, documentedBy } from './documented.ts'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: any
}

export interface CallOptions {
  readonly token?: string | null
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

let documented: Promise<Documented> | undefined

export class TestService {
  readonly service: Service
  readonly settings: Settings
  readonly admin: string
  openApi: any = undefined
  #documented: Documented | undefined

  constructor(service: Service, settings: Settings) {
    this.service = service
    this.settings = settings
    this.admin = readFileSync(join(settings.home, 'admin.token'), 'utf8').trim()
  }

  /** What the process's first service tells of itself: making the document again costs each of them 50 ms. */
  async loadDocuments(): Promise<void> {
    documented ??= fetch(`${this.service.url}/openapi.json`)
      .then((answer) => answer.text())
      .then(documentedBy)
    this.#documented = await documented
    this.openApi = this.#documented.openApi
  }

  /** Sends one request by fetch, and checks its answer against the document. */
  async call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Reply> {
    const token = options.token === undefined ? this.admin : options.token
    const response = await fetch(this.service.url + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
    const text = await response.text()
    const type = response.headers.get('content-type') ?? ''
    const parsed = text === '' ? undefined : type.includes('json') ? JSON.parse(text) : text
    this.#hold(method, path.split('?')[0]!, response, parsed)
    return { status: response.status, headers: response.headers, body: parsed }
  }

  /** The same, throwing unless the answer has this status. */
  async expect(status: number, method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply> {
    const reply = await this.call(method, path, body, options)
    if (reply.status !== status) {
      throw new Error(`${method} ${path}: ${reply.status} instead of ${status}: ${JSON.stringify(reply.body)}`)
    }
    return reply
  }

  async project(key: string): Promise<any> {
    return (await this.expect(201, 'POST', '/api/projects', { key, name: key })).body
  }

  /** Registers a runner; returns its token. */
  async runner(id: string, more: object = {}): Promise<string> {
    const created = await this.expect(201, 'POST', '/api/runners', { id, allowed_projects: ['*'], ...more })
    return created.body.token
  }

  async token(name: string, more: object): Promise<string> {
    return (await this.expect(201, 'POST', '/api/tokens', { name, ...more })).body.token
  }

  async request(project: string, more: object = {}): Promise<any> {
    const body = { entry_event: 'greet_requested', payload: { name: 'world' }, ...more }
    return (await this.expect(201, 'POST', `/api/projects/${project}/run-requests`, body)).body
  }

  #hold(method: string, path: string, response: Response, body: unknown): void {
    if (response.headers.get('api-version') !== '1') throw new Error(`${method} ${path}: no API-Version`)
    const contentType = response.headers.get('content-type') ?? ''
    const headers = [...response.headers.keys()]
    const fault = this.#documented!.faultOf({ method, path, status: response.status, contentType, headers, body })
    if (fault !== undefined) throw new Error(fault)
  }
}

/** A service for this test alone, stopped at its end. */
export async function startTestService(
  t: Test,
  more: Partial<Settings> = {},
  options: Partial<ServiceOptions> = {},
): Promise<TestService> {
  const home = more.home ?? t.testdir()
  const settings: Settings = { ...defaultSettings, port: 0, diskReserveBytes: 0, ...more, home }
  const service = await startService(settings, {
    version: '0.0.0-test',
    log: pino({ level: 'silent' }),
    openJournal: async () => new MemoryJournal(),
    ...options,
  })
  t.teardown(() => service.close())
  const test = new TestService(service, settings)
  await test.loadDocuments()
  return test
}

/** The same on LMDB. Started again in the same home after closing, it is the same service after a restart. */
export function startOnDisk(t: Test, home: string, options: Partial<ServiceOptions> = {}): Promise<TestService> {
  const openJournal: ServiceOptions['openJournal'] = (onFailure) =>
    openDiskJournal({ home, diskReserveBytes: 0, onFailure })
  return startTestService(t, { home }, { openJournal, ...options })
}

/** Sends raw bytes; resolves to all that came back until the connection ended or `untilMs` passed. */
export function raw(port: number, chunks: readonly (string | Uint8Array)[], untilMs = 500): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => {
      for (const chunk of chunks) socket.write(chunk)
    })
    const timer = setTimeout(() => socket.destroy(), untilMs)
    socket.setNoDelay(true)
    socket.on('data', (data) => {
      answer += data.toString('latin1')
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(answer)
    })
  })
}

/** The current value of a metric without labels. */
export async function metric(s: TestService, name: string): Promise<number> {
  const { body } = await s.call('GET', '/metrics')
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(body)?.[1])
}
