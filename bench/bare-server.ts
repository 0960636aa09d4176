/**
 * The limits of the HTTP server library alone: a route that answers 204 to the very same poll request, and a route
 * that parses a small JSON body and answers JSON. Whatever the service needs beyond this is its own cost.
 */
import { App, listen, readBody } from './uws.ts'

const app = App()

app.get('/api/runners/:runner_id/run-requests/next', (response) => {
  response.writeStatus('204 No Content').end()
})

app.post('/api/projects/:id/run-requests', (response) => {
  let aborted = false
  readBody(
    response,
    () => {
      aborted = true
    },
    (text) => {
      if (aborted) return
      const body = JSON.parse(text)
      response.cork(() => {
        response.writeStatus('201 Created').writeHeader('Content-Type', 'application/json')
        response.end(`{"entry_event":${JSON.stringify(body.entry_event)},"state":"queued"}`)
      })
    },
  )
})

listen(app)
