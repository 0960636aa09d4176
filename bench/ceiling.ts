/**
 * The ceiling prototype: the most that a server of this shape can do. The same HTTP server library, the same six
 * calls, a queue, a switch statement as the state machine, one LMDB event per call, one transactionSync per turn,
 * every answer after the flush. No access check, no validation, no snapshots, no timers, no idempotency, no Watch.
 */
import { open } from 'lmdb'
import { App, type HttpResponse, listen, readBody } from './uws.ts'

/** Taken entries are dropped from the array in pieces of this many. */
const QUEUE_TRIM = 65_536

type State = 'queued' | 'offered' | 'accepted' | 'started' | 'completed'

interface Run {
  readonly id: string
  readonly payload: unknown
  state: State
}

interface Pending {
  readonly response: HttpResponse
  aborted: boolean
  status: string
  body: string
}

const log = open<string, number>({
  path: process.env.BENCH_HOME!,
  encoding: 'string',
  keyEncoding: 'uint32',
  compression: false,
  // As in the service's view: a commit ends after its flush.
  overlappingSync: false,
})

const runs = new Map<string, Run>()
const queue: Run[] = []
let queueHead = 0
let lastSequence = 0
let lastRun = 0

const texts: string[] = []
const answers: Pending[] = []
let turnIsDue = false
/** The clock is read once per turn. */
let turnAt = ''

/** One commit for all calls of this turn of the event loop; only then the answers. */
function commitTurn(): void {
  turnIsDue = false
  turnAt = ''
  if (texts.length > 0) {
    log.transactionSync(() => {
      for (const text of texts) log.put(++lastSequence, text)
    })
    texts.length = 0
  }
  for (const pending of answers) {
    if (pending.aborted) continue
    pending.response.cork(() => {
      pending.response.writeStatus(pending.status)
      if (pending.body === '') pending.response.end()
      else pending.response.writeHeader('Content-Type', 'application/json').end(pending.body)
    })
  }
  answers.length = 0
}

function answerAfterCommit(pending: Pending, status: string, body: string): void {
  pending.status = status
  pending.body = body
  answers.push(pending)
  if (turnIsDue) return
  turnIsDue = true
  setImmediate(commitTurn)
}

function record(type: string, run: Run, payload: unknown): void {
  if (turnAt === '') turnAt = new Date().toISOString()
  const at = turnAt
  texts.push(
    `{"causation_id":null,"event_type":"${type}","gather_id":null,"id":"evt_${run.id}","occurred_at":"${at}",` +
      `"parent_span_id":null,"payload":${JSON.stringify(payload)},"project":"bench","recorded_at":"${at}",` +
      `"run_request_id":"${run.id}","span_id":null,"throttle":"dry_run","trace_id":"${run.id}"}`,
  )
}

/** The state machine. */
function step(run: Run, message: string): boolean {
  switch (message) {
    case 'accepted':
      if (run.state !== 'offered') return false
      run.state = 'accepted'
      return true
    case 'started':
      if (run.state !== 'accepted') return false
      run.state = 'started'
      return true
    case 'events':
      return run.state === 'started'
    case 'completed':
      if (run.state === 'completed' || run.state === 'queued') return false
      run.state = 'completed'
      return true
    default:
      return false
  }
}

function create(pending: Pending, text: string): void {
  const body = JSON.parse(text)
  const run: Run = {
    id: `runreq_${(++lastRun).toString(16).padStart(24, '0')}`,
    payload: body.payload,
    state: 'queued',
  }
  runs.set(run.id, run)
  queue.push(run)
  record('run_request_created', run, { entry_event: body.entry_event, payload: body.payload })
  answerAfterCommit(pending, '201 Created', `{"id":"${run.id}","state":"queued"}`)
}

function next(pending: Pending): void {
  const run = queue[queueHead]
  if (run === undefined) {
    pending.response.writeStatus('204 No Content').end()
    return
  }
  queueHead++
  if (queueHead === QUEUE_TRIM) {
    queue.splice(0, queueHead)
    queueHead = 0
  }
  run.state = 'offered'
  record('run_request_offered', run, { attempt: 1 })
  const request = `{"request_id":"${run.id}","attempt":1,"engine":{"payload":${JSON.stringify(run.payload)}}}`
  answerAfterCommit(pending, '200 OK', request)
}

function lifecycle(pending: Pending, id: string, message: string, text: string): void {
  const body = JSON.parse(text)
  const run = runs.get(id)
  if (run === undefined || !step(run, message)) {
    answerAfterCommit(pending, '409 Conflict', '{"code":"illegal"}')
    return
  }
  if (message === 'events') for (const event of body.events) record(event.event_type, run, event.payload)
  else record(`run_request_${message}`, run, { state: run.state })
  if (run.state === 'completed') runs.delete(id)
  answerAfterCommit(pending, '200 OK', `{"run_request":{"id":"${id}","state":"${run.state}"},"cancel_requested":false}`)
}

function pendingOf(response: HttpResponse): Pending {
  return { response, aborted: false, status: '', body: '' }
}

const app = App()

app.post('/api/projects/:id/run-requests', (response) => {
  const pending = pendingOf(response)
  readBody(
    response,
    () => {
      pending.aborted = true
    },
    (text) => create(pending, text),
  )
})

app.get('/api/runners/:runner_id/run-requests/next', (response) => {
  const pending = pendingOf(response)
  response.onAborted(() => {
    pending.aborted = true
  })
  next(pending)
})

app.post('/api/run-requests/:id/:message', (response, request) => {
  const pending = pendingOf(response)
  const id = request.getParameter(0)!
  const message = request.getParameter(1)!
  readBody(
    response,
    () => {
      pending.aborted = true
    },
    (text) => lifecycle(pending, id, message, text),
  )
})

listen(app)
