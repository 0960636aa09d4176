/** Watch: the one path on which events are followed, over a WebSocket or as server-sent events. */
import { Gauge } from 'prom-client'
import type { Principal } from '../../runtime/access/principals.ts'
import { EventStream } from '../../runtime/stream/event-stream.ts'
import { streamLimits } from '../../runtime/stream/limits.ts'
import type { Route, ServiceContext } from '../route.ts'
import { Shares } from '../watch/shares.ts'
import { type WatchRequest, watchSocket } from '../watch/socket.ts'
import { watchBySse } from '../watch/sse.ts'
import { filterOf, frameSchema, startOf, watchQuery } from '../watch/watch.ts'
import type { Exchange } from '../wire/exchange.ts'

/** Watchers at one time. Each costs a few KiB, and a turn's fan-out to all of them must stay short. */
const watchersMax = 10_000
/** Per token: a quarter, so that none takes all. */
const watchersPerTokenMax = watchersMax / 4

/** The routes, and the stream behind them, which listens to commits from now on. */
export function watchRoutes(service: ServiceContext): readonly Route[] {
  const { runtime, principals, log } = service
  const stream = new EventStream(runtime.journal, runtime.readTurns, streamLimits, log)
  runtime.onCommit((_steps, events, commit) => stream.committed(events, commit))
  service.onClosing(() => stream.close())
  new Gauge({
    name: 'intendant_watchers',
    help: 'Open Watch streams by activity: live, reading the log, or parked until their connection drains.',
    labelNames: ['state'],
    registers: [service.metrics.registry],
    collect() {
      for (const [state, count] of Object.entries(stream.counts())) this.set({ state }, count)
    },
  })

  new Gauge({
    name: 'intendant_watch_lag_events',
    help: 'Events that the stream furthest behind has yet to process.',
    registers: [service.metrics.registry],
    collect() {
      this.set(stream.lagEvents())
    },
  })

  const shares = new Shares()
  /**
   * Holds the token's share until the stream ends; calls `revoked` if the token ends first. Returns a function that
   * undoes both.
   */
  const hold = (principal: Principal, revoked: () => void): (() => void) => {
    const giveBack = shares.take(principal)
    const forget = principals.onRevoked(principal, revoked)
    return () => {
      giveBack()
      forget()
    }
  }
  const ask = (exchange: Exchange): WatchRequest => {
    if (stream.isClosed) {
      return { ok: false, fault: { code: 'stopping', detail: 'The service is stopping.' } }
    }
    if (stream.size >= watchersMax) {
      return { ok: false, fault: { code: 'too_many_streams', detail: `${watchersMax} streams are already open.` } }
    }
    if (shares.of(exchange.principal) >= watchersPerTokenMax) {
      const detail = `This token already has ${watchersPerTokenMax} streams open, the most that one token may have.`
      return { ok: false, fault: { code: 'too_many_streams', detail } }
    }
    const filtered = filterOf(exchange.query, exchange.principal, runtime)
    if (!filtered.ok) return filtered
    // A browser's EventSource reconnects with the same URL, and sends its position in this header.
    const start = startOf(exchange.header('last-event-id') || exchange.query.since, service)
    return start.ok ? { ok: true, filter: filtered.filter, after: start.after } : start
  }

  return [
    {
      method: 'GET',
      path: '/api/watch',
      operation: 'watchEvents',
      area: 'events',
      summary: 'Watch events as they are committed, from any point of the log.',
      description:
        'As a WebSocket, or with `Accept: text/event-stream` as server-sent events. Resuming from any cursor gives ' +
        'every later matching event once, in order. Browsers authenticate a WebSocket with the subprotocols ' +
        '`intendant.watch.v1, bearer.<token>`.',
      access: { right: 'view' },
      query: watchQuery,
      headers: ['authorization', 'last-event-id'],
      answers: {
        200: {
          description:
            'The stream. The `data` of each server-sent event is one such frame; `/asyncapi.json` describes the events of each type.',
          schema: frameSchema,
          contentType: 'text/event-stream',
          headers: {
            'Cache-Control': '`no-store`',
            'X-Accel-Buffering': '`no`: asks proxies not to buffer the stream.',
          },
        },
      },
      problems: ['cursor_too_old', 'cursor_of_another_log', 'too_many_streams', 'stopping'],
      produces: ['text/event-stream'],
      endless: true,
      socket: watchSocket(stream, hold, ask, (exchange) => exchange.header('authorization') === ''),
      handle: (exchange) => {
        const request = ask(exchange)
        if (request.ok) watchBySse(exchange, stream, hold, request.filter, request.after)
        else exchange.problem(request.fault.code, request.fault.detail, request.fault.extra)
      },
    },
  ]
}
