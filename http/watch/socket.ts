/**
 * Watch over a WebSocket. Invariant: a frame is sent only when nothing is buffered for the socket, so that
 * uWebSockets.js never has to drop one, and a reader that stops costs one frame.
 */

import type { Principal } from '../../runtime/access/principals.ts'
import type { EventStream } from '../../runtime/stream/event-stream.ts'
import type { Filter } from '../../runtime/stream/filter.ts'
import type { Frame } from '../../runtime/stream/frame.ts'
import type { Delivery, Sink, StreamEnd, Subscription } from '../../runtime/stream/sink.ts'
import { revocationFault } from '../access.ts'
import type { Socket, SocketRoute } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { closeCodeOf, endFault, type HoldToken, problemFrame, type QueryFault } from './watch.ts'

/** The subprotocol that browsers offer besides `bearer.<token>`. */
export const WATCH_PROTOCOL = 'intendant.watch.v1'

/** A peer without a pong or other sign for this long is considered dead. uWebSockets.js sends pings before. */
const idleTimeoutSeconds = 60

/** Watch takes no messages: a few small ones are ignored; more or larger ones are a mistake worth reporting. */
const messageBytesMax = 1_024
const messagesMax = 64

/**
 * Pings taken from a peer in each period. Each is read and answered, and 8 sockets that sent nothing else kept
 * everybody waiting for more than a second.
 */
const pingsMax = 64
const pingsOfMs = 10_000

/** Beyond this uWebSockets.js drops the connection without a word. */
const payloadBytesMax = 64 * 1024

/** Checked only for what is buffered before a send, which is nothing, so any bound above zero will do. */
const backpressureBytesMax = 64 * 1024

const SENT = 1
const BUFFERED = 0

/** RFC 6455 section 7.4.1. */
const POLICY_VIOLATION = 1008
const MESSAGE_TOO_BIG = 1009
const SERVICE_RESTART = 1012

/** The checked request; or its fault, to be reported once the socket is open. */
export type WatchRequest =
  | { readonly ok: true; readonly filter: Filter; readonly after: number }
  | { readonly ok: false; readonly fault: QueryFault }

class SocketSink implements Sink {
  readonly #socket: Socket
  readonly #path: string
  #isFull = false
  #isOver = false
  #messages = 0
  #pings = 0
  #pingsSinceMs = performance.now()
  subscription: Subscription | undefined
  forget: () => void = () => {}

  constructor(socket: Socket, path: string) {
    this.#socket = socket
    this.#path = path
  }

  send(frame: Frame): Delivery {
    if (this.#isOver) return 'gone'
    const result = this.#socket.send(frame.bytes, false)
    if (result === SENT) return 'sent'
    this.#isFull = true
    if (result === BUFFERED) return 'full'
    // A dropped frame cannot happen, and would leave a gap. The reader resumes by its cursor.
    this.#isOver = true
    this.forget()
    this.#socket.close()
    return 'gone'
  }

  end(end: StreamEnd): void {
    const fault = endFault(end)
    if (fault !== undefined) this.refuse(fault)
    else this.#finish(() => this.#socket.close())
  }

  /** Reports the problem and closes. A peer that does not read is not waited for. */
  refuse(fault: QueryFault): void {
    const isFull = this.#isFull
    // WebSockets have a close code for this, which tells clients to come back.
    const closeCode = fault.code === 'stopping' ? SERVICE_RESTART : closeCodeOf(fault.code)
    this.#finish(() => {
      if (!isFull) this.#socket.send(problemFrame(this.#path, fault).bytes, false)
      if (!isFull || fault.code === 'stopping') this.#socket.end(closeCode, fault.code)
      else this.#socket.close()
    })
  }

  messaged(bytes: number): void {
    if (bytes > messageBytesMax) this.#finish(() => this.#socket.end(MESSAGE_TOO_BIG, 'watch accepts no messages'))
    else if (++this.#messages > messagesMax) {
      this.#finish(() => this.#socket.end(POLICY_VIOLATION, 'watch accepts no messages'))
    }
  }

  pinged(): void {
    if (++this.#pings <= pingsMax) return
    const nowMs = performance.now()
    const isFlood = nowMs - this.#pingsSinceMs < pingsOfMs
    this.#pings = 0
    this.#pingsSinceMs = nowMs
    if (isFlood) this.#finish(() => this.#socket.end(POLICY_VIOLATION, 'too many pings'))
  }

  drained(): void {
    if (!this.#isFull || this.#isOver) return
    if (this.#socket.getBufferedAmount() > 0) {
      this.subscription?.progressed()
      return
    }
    this.#isFull = false
    this.subscription?.drained()
  }

  closed(): void {
    this.#finish(() => {})
  }

  #finish(last: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    this.forget()
    this.subscription?.close()
    last()
  }
}

/** The user data of a socket from its upgrade on. */
class WatchState {
  readonly request: WatchRequest
  /** Undefined if the socket is opened only to be refused. */
  readonly principal: Principal | undefined
  readonly path: string
  sink: SocketSink | undefined

  constructor(request: WatchRequest, principal: Principal | undefined, path: string) {
    this.request = request
    this.principal = principal
    this.path = path
  }
}

const stateOf = (socket: Socket): WatchState => socket.getUserData().state as WatchState

/**
 * The socket half of the route.
 * @param ask checks what the exchange asks for
 * @param isBrowser whether the caller could not read an HTTP answer, and gets the problem on the open socket instead
 */
export function watchSocket(
  stream: EventStream,
  hold: HoldToken,
  ask: (exchange: Exchange) => WatchRequest,
  isBrowser: (exchange: Exchange) => boolean,
): SocketRoute {
  return {
    idleTimeoutSeconds,
    maxPayloadBytes: payloadBytesMax,
    maxBackpressureBytes: backpressureBytesMax,
    protocol: WATCH_PROTOCOL,
    upgrade: (exchange) => {
      const request = ask(exchange)
      if (!request.ok && !isBrowser(exchange)) {
        const { code, detail, extra } = request.fault
        exchange.problem(code, detail, extra)
        return undefined
      }
      return new WatchState(request, exchange.principal, exchange.path)
    },
    refuse: (fault, path) => new WatchState({ ok: false, fault }, undefined, path),
    open: (socket) => {
      const state = stateOf(socket)
      const { request, principal, path } = state
      const sink = new SocketSink(socket, path)
      state.sink = sink
      if (!request.ok || principal === undefined) {
        if (!request.ok) sink.refuse(request.fault)
        return
      }
      sink.forget = hold(principal, () => sink.refuse(revocationFault(principal)))
      sink.subscription = stream.subscribe(request.filter, request.after, sink)
    },
    message: (socket, message) => stateOf(socket).sink?.messaged(message.byteLength),
    ping: (socket) => stateOf(socket).sink?.pinged(),
    drain: (socket) => stateOf(socket).sink?.drained(),
    close: (socket) => stateOf(socket).sink?.closed(),
  }
}
