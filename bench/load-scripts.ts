/**
 * What one closed-loop client sends. Each script formats its requests once, then inserts ids into them. Hot path:
 * strings are joined, answers are searched, and nothing is parsed needlessly.
 */
import { performance } from 'node:perf_hooks'
import { type Connection, formatRequest } from './wire.ts'

/** Shared by all clients of a job. */
export interface Meter {
  calls: number
  rounds: number
  emptyPolls: number
  /** Records how long a call of this name took, milliseconds. Hot. */
  readonly sample: (name: string, ms: number) => void
  stopping: boolean
  running: number
  /** Called when the last client has finished its last round. */
  ended: () => void
  /** Takes over a client that has finished a round, and starts it again later; without it clients continue at once. */
  readonly finished?: (client: LoadClient) => void
  /**
   * Count of posts answered 429 or 503, which are sent again after a pause; if undefined, such an answer is a failure.
   */
  refused?: number
}

export interface LoadClient {
  start(): void
  answered(status: number, text: string, from: number, to: number): void
}

/** `occurred_at` of the load's events. It may be fixed, since each run has a trace of its own. */
const OCCURRED_AT = '2026-01-01T00:00:00.000000Z'
const PADDING = 'x'.repeat(120)
const ZEROES = '00000000000000000000'
const SERIAL_DIGITS = 16
/** Pause before a refused request is sent again. */
const REFUSED_PAUSE_MS = 100
const ID_KEY = '"request_id":"'

function digits(serial: number): string {
  const text = serial.toString()
  return ZEROES.slice(0, SERIAL_DIGITS - text.length) + text
}

function refuse(what: string, status: number, text: string, from: number, to: number): never {
  throw new Error(`${what}: ${status} ${text.slice(from, to).slice(0, 600)}`)
}

function sampleInto(meter: Meter, name: string, sentMs: number): void {
  meter.sample(name, performance.now() - sentMs)
  meter.calls++
}

/** @returns true if the client must not continue by itself. */
function endRound(meter: Meter, client: LoadClient): boolean {
  meter.rounds++
  if (meter.finished !== undefined) {
    meter.finished(client)
    return true
  }
  if (!meter.stopping) return false
  meter.running--
  if (meter.running === 0) meter.ended()
  return true
}

/** Repeats a few requests in turn forever: empty polls, bare posts, reads. */
export class RepeatClient implements LoadClient {
  readonly #connection: Connection
  readonly #meter: Meter
  readonly #requests: readonly string[]
  readonly #status: number
  #next = 0
  #sentMs = 0

  constructor(connection: Connection, meter: Meter, requests: readonly string[], status: number) {
    this.#connection = connection
    this.#meter = meter
    this.#requests = requests
    this.#status = status
  }

  start(): void {
    this.#sentMs = performance.now()
    this.#connection.send(this.#requests[this.#next++ % this.#requests.length]!)
  }

  answered(status: number, text: string, from: number, to: number): void {
    if (status !== this.#status) refuse('repeat', status, text, from, to)
    sampleInto(this.#meter, 'call', this.#sentMs)
    if (!endRound(this.#meter, this)) this.start()
  }
}

export interface CycleOptions {
  readonly calls: 3 | 6
  readonly project: string
  readonly token: string
  readonly runner: { readonly id: string; readonly token: string }
  readonly serial: number
}

type Call = 'create' | 'poll' | 'accepted' | 'started' | 'events' | 'completed'

const SIX: readonly Call[] = ['create', 'poll', 'accepted', 'started', 'events', 'completed']
const THREE: readonly Call[] = ['create', 'poll', 'completed']

/** Bodies of the runner's posts. */
export const RUN_BODIES: Readonly<Record<'accepted' | 'started' | 'events' | 'completed', string>> = {
  accepted: '{"attempt":1}',
  started: '{"attempt":1}',
  events: JSON.stringify({
    attempt: 1,
    events: [{ event_type: 'greeting_composed', occurred_at: OCCURRED_AT, payload: { greeting: PADDING } }],
  }),
  completed: JSON.stringify({ attempt: 1, result: { status: 'completed' } }),
}

/** The body of a create; `serial` makes its payload unique. */
export function createBody(serial: number): string {
  return `{"entry_event":"greet_requested","payload":{"name":"${PADDING}${digits(serial)}"}}`
}

/** A request that asks, as a large fleet does, only for the run request's state and not for its document. */
function minimal(method: string, path: string, token: string, body: string): string {
  return formatRequest(method, path, token, body).replace('\r\n', '\r\nPrefer: return=minimal\r\n')
}

/** Takes one run request after another from creation to completion. */
export class CycleClient implements LoadClient {
  readonly #connection: Connection
  readonly #meter: Meter
  readonly #calls: readonly Call[]
  readonly #createHead: string
  readonly #poll: string
  readonly #tails: Readonly<Record<string, string>>
  #serial: number
  #call = 0
  #id = ''
  #sentMs = 0

  constructor(connection: Connection, meter: Meter, options: CycleOptions) {
    this.#connection = connection
    this.#meter = meter
    this.#calls = options.calls === 6 ? SIX : THREE
    this.#serial = options.serial
    const create = minimal('POST', `/api/projects/${options.project}/run-requests`, options.token, createBody(0))
    this.#createHead = create.slice(0, -createBody(0).length)
    this.#poll = formatRequest('GET', `/api/runners/${options.runner.id}/run-requests/next`, options.runner.token)
    this.#tails = Object.fromEntries(
      Object.entries(RUN_BODIES).map(([call, body]) => {
        const whole = minimal('POST', '/', options.runner.token, body)
        return [call, `/${call}${whole.slice('POST /'.length)}`]
      }),
    )
  }

  start(): void {
    this.#sentMs = performance.now()
    const call = this.#calls[this.#call]!
    if (call === 'create') this.#connection.send(this.#createHead + createBody(++this.#serial))
    else if (call === 'poll') this.#connection.send(this.#poll)
    else this.#connection.send(`POST /api/run-requests/${this.#id}${this.#tails[call]}`)
  }

  answered(status: number, text: string, from: number, to: number): void {
    const call = this.#calls[this.#call]!
    if (status === 204 && call === 'poll') {
      this.#meter.emptyPolls++
      this.start()
      return
    }
    if ((status === 503 || status === 429) && this.#meter.refused !== undefined) {
      this.#meter.refused++
      setTimeout(() => this.start(), REFUSED_PAUSE_MS)
      return
    }
    if (status !== 200 && status !== 201) refuse(call, status, text, from, to)
    sampleInto(this.#meter, call, this.#sentMs)
    if (call === 'poll') {
      const at = text.indexOf(ID_KEY, from) + ID_KEY.length
      this.#id = text.slice(at, text.indexOf('"', at))
    }
    this.#call++
    if (this.#call === this.#calls.length) {
      this.#call = 0
      if (endRound(this.#meter, this)) return
    }
    this.start()
  }
}

export interface EventsOptions {
  readonly run: { readonly id: string; readonly token: string }
  readonly perPost: number
  readonly serial: number
}

/** A request that posts `perPost` events to a run, and the offset of each event's serial number. */
export function eventsRequest(options: EventsOptions): { bytes: Buffer; offsets: readonly number[] } {
  const events = Array.from({ length: options.perPost }, () => ({
    event_type: 'greeting_composed',
    occurred_at: OCCURRED_AT,
    payload: { greeting: PADDING + digits(0) },
  }))
  const body = JSON.stringify({ attempt: 1, events })
  const text = formatRequest('POST', `/api/run-requests/${options.run.id}/events`, options.run.token, body)
  const offsets: number[] = []
  const key = PADDING + digits(0)
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) offsets.push(at + PADDING.length)
  return { bytes: Buffer.from(text, 'latin1'), offsets }
}

/** Writes the next serial numbers into a request of `eventsRequest`. @returns the last one. */
export function renumber(bytes: Buffer, offsets: readonly number[], serial: number): number {
  let next = serial
  for (const offset of offsets) bytes.write(digits(++next), offset, 'latin1')
  return next
}

/** Posts fresh events, reusing one request buffer. */
export class EventsClient implements LoadClient {
  readonly #connection: Connection
  readonly #meter: Meter
  readonly #bytes: Buffer
  readonly #offsets: readonly number[]
  #serial: number
  #sentMs = 0

  constructor(connection: Connection, meter: Meter, options: EventsOptions) {
    this.#connection = connection
    this.#meter = meter
    this.#serial = options.serial
    const request = eventsRequest(options)
    this.#bytes = request.bytes
    this.#offsets = request.offsets
  }

  start(): void {
    this.#serial = renumber(this.#bytes, this.#offsets, this.#serial)
    this.#sentMs = performance.now()
    this.#connection.send(this.#bytes)
  }

  answered(status: number, text: string, from: number, to: number): void {
    if (status !== 200) refuse('events', status, text, from, to)
    sampleInto(this.#meter, 'events', this.#sentMs)
    if (!endRound(this.#meter, this)) this.start()
  }
}
