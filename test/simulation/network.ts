/**
 * Between the clients and the service: requests and answers take time, overtake each other, are doubled and lost; a
 * client whose connection is cut does not know what became of its request. The checker hears everything that the
 * service says at the moment it says it.
 */
import type { Process } from './process.ts'
import type { Random } from './random.ts'
import { rounded } from './timeline.ts'
import type { Connection, SocketClient, SocketConnection, WireAnswer, WireRequest } from './wire.ts'
import type { World } from './world.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Call {
  /** Whose call it is, for the history. */
  readonly by: string
  readonly token: string
  readonly method: Method
  readonly pattern: string
  readonly params?: readonly string[]
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** An answer as the service gave it. */
export interface Said {
  readonly call: Call
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The process that answered, and when it was asked. */
  readonly process: Process
  readonly askedMs: number
  /** The newest event on disk when it was asked. */
  readonly askedSequence: number
  /** Its body, parsed once. */
  readonly body: any
}

/** What a client knows in the end. Status 0: nothing, and the request may have been carried out. */
export interface Heard {
  readonly status: number
  readonly body: any
  readonly headers: Readonly<Record<string, string>>
}

const NOTHING: Heard = { status: 0, body: undefined, headers: {} }
/** Nobody listens: certainly nothing was carried out. */
const REFUSED: Heard = { status: -1, body: undefined, headers: {} }

/** How bad the network is. Probabilities per request. */
export interface Weather {
  requestLost: number
  answerLost: number
  doubled: number
  /** Longest time that a message travels, milliseconds. */
  wayMsMax: number
}

export const CLEAR: Readonly<Weather> = { requestLost: 0, answerLost: 0, doubled: 0, wayMsMax: 5 }

const POLL = '/api/runners/:runner_id/run-requests/next'

/** A client gives up on a connection that is silent for this long. */
const SILENCE_MS = 90_000

interface Parked {
  readonly runner: string
  readonly token: string
  readonly sinceMs: number
}

/** When a question reached the service, and what was on disk by then. */
interface Asked {
  readonly ms: number
  readonly sequence: number
}

class SaidAnswer implements Said {
  readonly call: Call
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly process: Process
  readonly askedMs: number
  readonly askedSequence: number
  private parsed: unknown
  private isParsed = false

  constructor(call: Call, answer: WireAnswer, process: Process, asked: Asked) {
    this.call = call
    this.status = answer.status
    this.headers = answer.headers
    this.text = answer.text
    this.process = process
    this.askedMs = asked.ms
    this.askedSequence = asked.sequence
  }

  get body(): any {
    if (!this.isParsed) this.parsed = this.text === '' ? undefined : JSON.parse(this.text)
    this.isParsed = true
    return this.parsed
  }
}

/** A request that can be given up. */
export interface Pending {
  readonly heard: Promise<Heard>
  abort(): void
}

export class Network {
  weather: Weather = { ...CLEAR }
  private readonly world: World
  private readonly random: Random
  /** Cut when the service's process is gone. */
  private readonly open = new Set<() => void>()
  /** Polls that the service has not answered; one that came twice waits twice. */
  private readonly parked = new Set<Parked>()
  /** When the service last heard of the token's holder. */
  private readonly contactMs = new Map<string, number>()
  /** Ends a parked poll from the runner's side. */
  private readonly giveUps = new Map<Call, () => void>()

  constructor(world: World, random: Random) {
    this.world = world
    this.random = random
  }

  call(call: Call): Promise<Heard> {
    return this.begin(call).heard
  }

  begin(call: Call): Pending {
    const { random, weather, world } = this
    const { timeline } = world
    let abort = (): void => {}
    const heard = new Promise<Heard>((resolve) => {
      let isOver = false
      let connection: Connection | undefined
      const end = (what: Heard): void => {
        if (isOver) return
        isOver = true
        this.open.delete(cut)
        this.giveUps.delete(call)
        resolve(what)
      }
      const cut = (): void => {
        this.open.delete(cut)
        timeline.in(this.way(), () => end(NOTHING))
      }
      abort = () => {
        connection?.abort()
        end(NOTHING)
      }
      world.history.note(call.by, () => `asks ${describe(call)}`)
      if (random.chance(weather.requestLost)) {
        timeline.in(random.between(100, SILENCE_MS / 10), () => end(NOTHING))
        return
      }
      const isAnswerLost = random.chance(weather.answerLost)
      if (random.chance(weather.doubled)) timeline.in(this.way() * 4, () => this.deliver(call, () => {}))
      timeline.in(this.way(), () => {
        if (isOver) return
        this.open.add(cut)
        if (call.pattern === POLL) this.giveUps.set(call, abort)
        connection = this.deliver(call, (said) => {
          if (isAnswerLost) cut()
          else
            timeline.in(this.way(), () => {
              world.history.note(call.by, () => `hears ${said.status} ${said.text}`)
              end(said)
            })
        })
        if (connection === undefined) {
          this.open.delete(cut)
          timeline.in(this.way(), () => end(REFUSED))
        }
      })
    })
    return { heard, abort }
  }

  /** Opens a WebSocket on the current service; undefined: nobody listens, or it was answered instead. */
  connect(call: Call, client: SocketClient, answered: (said: Said) => void): SocketConnection | undefined {
    const process = this.world.process
    if (process?.isServing !== true) return undefined
    const { wire } = process
    const asked = this.asked()
    return wire.connect(requestOf(call), client, (answer) => {
      const said = new SaidAnswer(call, answer, process, asked)
      this.world.said(said)
      answered(said)
    })
  }

  /** Ends every connection: the process that held them is gone. */
  cutAll(): void {
    this.parked.clear()
    for (const cut of [...this.open]) cut()
  }

  /** Whether a poll of the runner has been parked at the service since before that time. */
  hasParkedPoll(runner: string, beforeMs: number): boolean {
    for (const poll of this.parked) if (poll.runner === runner && poll.sinceMs < beforeMs) return true
    return false
  }

  /** One of the parked polls loses its patience. */
  losePatience(): void {
    if (this.giveUps.size > 0) this.random.pick([...this.giveUps.values()])()
  }

  /** When the service last heard of the runner; a parked poll counts as being heard all the time. */
  heardMs({ id, token }: { readonly id: string; readonly token: string }): number {
    const { nowMs } = this.world.timeline
    return this.hasParkedPoll(id, nowMs) ? nowMs : (this.contactMs.get(token) ?? 0)
  }

  /** The poll is no longer parked. */
  private leaves(poll: Parked): void {
    if (this.parked.delete(poll)) this.contactMs.set(poll.token, this.world.timeline.nowMs)
  }

  /** How long a message travels now. */
  way(): number {
    return rounded(this.random.skewed(0.05, this.weather.wayMsMax))
  }

  private asked(): Asked {
    return { ms: this.world.timeline.nowMs, sequence: this.world.mirror.lastSequence }
  }

  /** The request reaches the service. Undefined: nobody listens. */
  private deliver(call: Call, answered: (said: Said) => void): Connection | undefined {
    const process = this.world.process
    if (process?.isServing !== true) return undefined
    const asked = this.asked()
    this.contactMs.set(call.token, asked.ms)
    const poll: Parked = { runner: call.params?.[0] ?? '', token: call.token, sinceMs: asked.ms }
    if (call.pattern === POLL) this.parked.add(poll)
    const connection = process.wire.request(requestOf(call), (answer) => {
      // A dead process says nothing: what its code still does in this turn reaches nobody.
      if (!process.isAlive) return
      this.leaves(poll)
      const said = new SaidAnswer(call, answer, process, asked)
      this.world.said(said)
      answered(said)
    })
    return {
      abort: () => {
        connection.abort()
        this.leaves(poll)
      },
    }
  }
}

function requestOf({ token, method, pattern, params = [], query = '', headers, body }: Call): WireRequest {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const own: Record<string, string> = { authorization: `Bearer ${token}`, ...headers }
  if (text !== undefined) {
    own['content-type'] = 'application/json'
    own['content-length'] = String(Buffer.byteLength(text))
  }
  return { method, pattern, params, query, headers: own, body: text }
}

function describe({ method, pattern, params = [], query, body, headers }: Call): string {
  let i = 0
  const path = pattern.replaceAll(/:\w+/g, () => params[i++] ?? '')
  const rest = [headers === undefined ? '' : JSON.stringify(headers), body === undefined ? '' : JSON.stringify(body)]
  return [method, query === undefined ? path : `${path}?${query}`, ...rest].filter((text) => text !== '').join(' ')
}
