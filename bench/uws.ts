/**
 * The bare limits and the ceiling prototype use the same server library as the service. This is the only file of
 * bench/ that imports it, so that swapping the package changes one line here too.
 */

import uws from 'uWebSockets.js'

export type { HttpRequest, HttpResponse, TemplatedApp, WebSocket } from 'uWebSockets.js'

// A CommonJS module whose named exports Node.js cannot detect.
export const { App } = uws
const { us_listen_socket_close, us_socket_local_port } = uws

/** Listens on a free loopback port and prints its address on standard output; stops on SIGTERM. */
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

/**
 * Collects a request's body and passes it on as text. Call first in a handler; `aborted` is called if the peer is
 * gone.
 */
export function readBody(response: uws.HttpResponse, aborted: () => void, done: (text: string) => void): void {
  let head: Buffer | undefined
  response.onAborted(aborted)
  response.onData((chunk, isLast) => {
    const bytes = Buffer.from(chunk)
    if (isLast) done(head === undefined ? bytes.toString('utf8') : Buffer.concat([head, bytes]).toString('utf8'))
    else head = head === undefined ? Buffer.from(bytes) : Buffer.concat([head, bytes])
  })
}
