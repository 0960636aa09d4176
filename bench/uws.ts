/**
 * The bare limits and the ceiling prototype stand on the same server library as the service: this is the one
 * file of bench/ that imports it, so that a swap of the package is a change of one line here too.
 */

import uws from 'uWebSockets.js'

export type { HttpRequest, HttpResponse, TemplatedApp, WebSocket } from 'uWebSockets.js'

// A CommonJS module without named exports that Node.js could see.
export const { App } = uws
const { us_listen_socket_close, us_socket_local_port } = uws

/** Listen on a free port of the loopback address and say where on standard output; stop on SIGTERM. */
export function listen(app: uws.TemplatedApp): void {
  app.listen('127.0.0.1', 0, (socket: uws.us_listen_socket | false) => {
    if (socket === false) throw new Error('no port to listen on')
    process.stdout.write(`${JSON.stringify({ listening: `http://127.0.0.1:${us_socket_local_port(socket)}` })}\n`)
    process.once('SIGTERM', () => {
      us_listen_socket_close(socket)
      process.exit(0)
    })
  })
}

/** Collect a request's body and hand it over as text. Call first in a handler; `aborted` is told of a dead peer. */
export function readBody(response: uws.HttpResponse, aborted: () => void, done: (text: string) => void): void {
  let head: Buffer | undefined
  response.onAborted(aborted)
  response.onData((chunk, isLast) => {
    const bytes = Buffer.from(chunk)
    if (isLast) done(head === undefined ? bytes.toString('utf8') : Buffer.concat([head, bytes]).toString('utf8'))
    else head = head === undefined ? Buffer.from(bytes) : Buffer.concat([head, bytes])
  })
}
