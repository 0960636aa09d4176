/**
 * Reaches states that random calls would not: short stories of valid calls, one after the other, each written as a
 * generator. A story is abandoned at the first answer after which it cannot continue. README.md says how to add one.
 */
import { anInitiative } from './initiative-walks.ts'
import { aBrief, anInspection, aRecord } from './intent-walks.ts'
import { begun, polledFor, post, type Stage, type Step, type Walk } from './story.ts'
import type { Caller } from './world.ts'

export const WALKS: readonly ((stage: Stage) => Walk)[] = [
  aRun,
  aRun,
  aRun,
  anUnapprovedRun,
  aStaleAttempt,
  aBrief,
  aRecord,
  anInspection,
  anInitiative,
  commands,
  aToken,
  aRunner,
  aProject,
  sameKeyTwice,
  readAll,
]

/** A run from its creation to one of its ends. */
function* aRun(stage: Stage): Walk {
  const { random } = stage
  const runner = stage.runner()
  const given = yield* begun(stage, runner, random.chance(0.2) ? { timeout_seconds: 1 } : {})
  if (given === undefined) return
  const { request_id: id, attempt } = given
  if (random.chance(0.1)) return
  if (random.chance(0.1)) return void (yield post(runner, id, 'release', { attempt }))
  if (random.chance(0.7)) yield post(runner, id, 'accepted', { attempt })
  const started = yield post(runner, id, 'started', { attempt })
  if (started.status !== 200) return
  const runId: string = started.body.run_request.engine_run_id
  for (let n = random.between(0, 2); n > 0; n--) {
    const events = Array.from({ length: random.between(1, 3) }, (_, i) => ({
      event_type: random.pick(['greeting_composed', 'something_new', 'run_output']),
      occurred_at: new Date().toISOString(),
      payload: { greeting: `${stage.text()} ${i}`, stream: 'stdout', text: stage.text() },
    }))
    yield post(runner, id, 'events', { attempt, events })
  }
  if (random.chance(0.5))
    yield post(runner, id, 'heartbeat', { attempt, sessions: [{ session_id: 's1', bytes_written: 5 }] })
  if (random.chance(0.4))
    yield { operation: 'POST /api/engine-runs/{id}/trace-summary', caller: runner, params: [runId], body: {} }
  if (random.chance(0.4))
    yield { operation: 'POST /api/engine-runs/{id}/evidence-observations', caller: runner, params: [runId], body: {} }
  yield { operation: 'GET /api/engine-runs/{id}', caller: stage.person('view'), params: [runId] }
  yield* anEnd(stage, runner, id, attempt)
}

function* anEnd(stage: Stage, runner: Caller, id: string, attempt: number): Walk {
  const { random } = stage
  const completed = post(runner, id, 'completed', { attempt, result: { status: 'completed', summary: stage.text() } })
  const failed = post(runner, id, 'failed', { attempt, class: 'execution', message: stage.text() })
  const cancel: Step = {
    operation: 'POST /api/run-requests/{id}/cancel',
    caller: stage.person('work.operate'),
    params: [id],
    body: { reason: stage.text() },
  }
  const session: Step = {
    operation: 'POST /api/runners/{runner_id}/session',
    caller: runner,
    params: [runner.runnerId!],
    body: { version: '1', instance: random.hex(8) },
    exact: true,
  }
  switch (random.between(0, 5)) {
    case 0:
      yield completed
      yield completed
      return void (yield post(runner, id, 'completed', { attempt, result: { status: 'completed_with_findings' } }))
    case 1:
      yield failed
      return void (yield completed)
    case 2:
      yield cancel
      return void (yield post(runner, id, 'failed', { attempt, class: 'cancelled', message: 'stopped' }))
    case 3:
      yield session
      yield {
        operation: 'POST /api/run-requests/{id}/requeue',
        caller: stage.person('work.operate'),
        params: [id],
        body: {},
        exact: true,
      }
      return
    case 4:
      yield session
      yield {
        operation: 'POST /api/run-requests/{id}/fail',
        caller: stage.person('work.operate'),
        params: [id],
        body: { message: stage.text() },
        exact: true,
      }
      return
    default:
      yield session
      return void (yield completed)
  }
}

function* anUnapprovedRun(stage: Stage): Walk {
  const runner = stage.runner()
  const repo = { path: `git@host:${stage.project}` }
  const given = yield* begun(stage, runner, {
    throttle: 'full',
    repo,
    retry: { max_attempts: 2, on: ['execution'], backoff_seconds: 0 },
  })
  if (given === undefined) return
  yield post(runner, given.request_id, 'started', { attempt: given.attempt })
  yield post(runner, given.request_id, 'failed', { attempt: given.attempt, class: 'execution', message: 'no' })
}

/** The runner posts about an attempt that it has released. */
function* aStaleAttempt(stage: Stage): Walk {
  const runner = stage.runner()
  const given = yield* begun(stage, runner)
  if (given === undefined) return
  const { request_id: id, attempt } = given
  yield post(runner, id, 'release', { attempt })
  for (const name of ['accepted', 'started', 'heartbeat']) yield post(runner, id, name, { attempt })
  yield post(runner, id, 'completed', { attempt, result: { status: 'completed' } })
  const again = yield* polledFor(runner)
  if (again === undefined) return
  yield post(stage.runner(), again.request_id, 'started', { attempt: again.attempt })
  yield post(runner, again.request_id, 'started', {})
  yield post(runner, again.request_id, 'failed', { attempt: again.attempt + 1, class: 'safety', message: 'no' })
  yield post(runner, again.request_id, 'completed', { attempt: again.attempt, result: { status: 'completed' } })
}

function* commands(stage: Stage): Walk {
  const event = (event_type: string) => ({
    event_type,
    project: stage.project,
    occurred_at: new Date().toISOString(),
    payload: { name: stage.text(), note: stage.random.hex(8) },
  })
  const body = { events: [event('greet_requested'), event('something_seen')] }
  const emitted = yield { operation: 'POST /api/events', caller: stage.person('event.emit'), body, exact: true }
  if (emitted.status !== 200) return
  yield { operation: 'POST /api/events', caller: stage.person('event.emit'), body, exact: true }
  const [id] = emitted.body.run_requests
  if (id === undefined) return
  const read = yield { operation: 'GET /api/run-requests/{id}', caller: stage.person('view'), params: [id] }
  if (read.status === 200)
    yield { operation: 'GET /api/traces/{trace_id}', caller: stage.person('view'), params: [read.body.trace_id] }
}

/** A token from its creation to its revocation, and one use after that. */
function* aToken(stage: Stage): Walk {
  const keeper = stage.person('token.manage')
  const projects = stage.tenant.key === undefined ? ['*'] : [stage.tenant.key]
  const made = yield {
    operation: 'POST /api/tokens',
    caller: keeper,
    body: { name: stage.text(), roles: ['viewer'], projects },
    exact: true,
  }
  if (made.status !== 201) return
  const holder: Caller = { ...keeper, name: made.body.id, token: made.body.token, rights: new Set(['view']) }
  yield { operation: 'GET /api/projects', caller: holder }
  yield { operation: 'GET /api/events', caller: holder, query: { limit: '20', order: 'desc' } }
  yield { operation: 'DELETE /api/tokens/{id}', caller: keeper, params: [made.body.id] }
  yield { operation: 'GET /api/projects', caller: holder }
  yield { operation: 'DELETE /api/tokens/{id}', caller: keeper, params: [made.body.id] }
}

function* aRunner(stage: Stage): Walk {
  const keeper = stage.person('runner.manage')
  const id = `made-${stage.random.hex(12)}`
  const allowed_projects = stage.tenant.key === undefined ? [] : [stage.tenant.key]
  const made = yield { operation: 'POST /api/runners', caller: keeper, body: { id, allowed_projects }, exact: true }
  if (made.status !== 201) return
  const runner: Caller = {
    ...keeper,
    name: id,
    kind: 'runner',
    token: made.body.token,
    rights: new Set(),
    runnerId: id,
  }
  yield {
    operation: 'POST /api/runners/{runner_id}/session',
    caller: runner,
    params: [id],
    body: { version: '1', instance: 'a' },
    exact: true,
  }
  yield { operation: 'GET /api/runners/{runner_id}/run-requests/next', caller: runner, params: [id] }
  yield {
    operation: 'PATCH /api/runners/{runner_id}',
    caller: keeper,
    params: [id],
    body: { draining: true, capacity: 3 },
    exact: true,
  }
  yield { operation: 'POST /api/runners/{runner_id}/token', caller: keeper, params: [id], body: {}, exact: true }
  yield { operation: 'DELETE /api/runners/{runner_id}', caller: keeper, params: [id] }
  yield { operation: 'GET /api/runners/{runner_id}/run-requests/next', caller: runner, params: [id] }
}

/** The tenant's own project is archived and restored. */
function* aProject(stage: Stage): Walk {
  if (!stage.random.chance(0.1)) return
  const owner = stage.person('intent.write')
  const params = [stage.project]
  yield { operation: 'PUT /api/projects/{id}/charter', caller: owner, params, body: { mission: stage.text() } }
  yield { operation: 'PATCH /api/projects/{id}', caller: owner, params, body: { archived: true }, exact: true }
  yield {
    operation: 'POST /api/projects/{id}/run-requests',
    caller: stage.person('work.submit'),
    params,
    body: { entry_event: 'scan_requested' },
    exact: true,
  }
  yield { operation: 'PATCH /api/projects/{id}', caller: owner, params, body: { archived: false }, exact: true }
}

function* sameKeyTwice(stage: Stage): Walk {
  const headers = { 'Idempotency-Key': `key-${stage.random.between(0, 50)}` }
  const create = (n: string): Step => ({
    operation: 'POST /api/projects/{id}/run-requests',
    caller: stage.person('work.submit'),
    params: [stage.project],
    headers,
    body: { entry_event: 'greet_requested', payload: { name: n } },
    exact: true,
  })
  yield create('a')
  yield create('a')
  yield create('b')
}

function* readAll(stage: Stage): Walk {
  const caller = stage.person('view')
  for (const path of ['projects', 'run-requests', 'runners', 'attention', 'events']) {
    const page = yield { operation: `GET /api/${path}`, caller, query: { limit: String(stage.random.between(1, 40)) } }
    if (page.status !== 200 || page.body.next_cursor === undefined) continue
    yield { operation: `GET /api/${path}`, caller, query: { cursor: page.body.next_cursor } }
  }
}
