/**
 * The limit for Watch: the same server library sending one ready frame to each WebSocket in a bare loop. A post to
 * `/frame` is sent as it is; nothing is stored, filtered, encoded or remembered.
 */
import { App, listen, readBody, type WebSocket } from './uws.ts'

const BACKPRESSURE_BYTES_MAX = 64 * 1024 * 1024

const sockets = new Set<WebSocket<unknown>>()
const app = App()

app.ws('/api/watch', {
  maxBackpressure: BACKPRESSURE_BYTES_MAX,
  open: (socket) => {
    sockets.add(socket)
    socket.send('{"type":"hello","cursor":"0.0","oldest":"0.0"}')
  },
  close: (socket) => {
    sockets.delete(socket)
  },
})

app.post('/frame', (response) => {
  let aborted = false
  readBody(
    response,
    () => {
      aborted = true
    },
    (text) => {
      const frame = Buffer.from(text)
      for (const socket of sockets) socket.send(frame, false)
      if (!aborted) response.cork(() => response.end('{}'))
    },
  )
})

listen(app)
