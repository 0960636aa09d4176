import { agentSessionExamples } from './examples/agent-sessions.ts'
import { campaignExamples } from './examples/campaigns.ts'
import { AT, BY, CURSOR, EVENT_ID, PROJECT_ID, REQUEST_ID, RUN_ID, SPAN_ID, TRACE_ID } from './examples/constants.ts'
import { engineCapabilityExamples } from './examples/engine-capabilities.ts'
import { formationBriefExamples } from './examples/formation-briefs.ts'
import { initiativeExamples } from './examples/initiatives.ts'
import { intentExamples } from './examples/intent.ts'
import { sentinelExamples } from './examples/sentinels.ts'
import { workItemExamples } from './examples/work-items.ts'

/** Examples of bodies and answers for the documents, by route. A test validates each against its schema. */
export interface Example {
  readonly body?: unknown
  readonly answer?: unknown
  /** Example bodies of an upload, by content type. */
  readonly uploads?: Readonly<Record<string, unknown>>
}

const project = { id: PROJECT_ID, key: 'greeter', name: 'Greeter', max_writers: 1, state: 'active', created_at: AT }
const runner = {
  id: 'laptop',
  state: 'registered',
  allowed_projects: ['greeter'],
  labels: ['linux'],
  capacity: 1,
  trusted: false,
  run_rights: ['view'],
  draining: false,
  created_at: AT,
}
const seen = { presence: 'online', last_seen_at: AT, in_flight: [REQUEST_ID] }
const runRequest = {
  id: REQUEST_ID,
  project: 'greeter',
  project_id: PROJECT_ID,
  state: 'queued',
  attempt: 1,
  entry_event: 'greet_requested',
  payload: { name: 'world' },
  throttle: 'dry_run',
  access: 'full',
  lane: 'interactive',
  labels: [],
  priority: 0,
  idempotency_key: 'first',
  trace_id: TRACE_ID,
  requested_by: BY,
  created_at: AT,
}
const started = { ...runRequest, state: 'started', offered_to: 'laptop', engine_run_id: RUN_ID, started_at: AT }
const runAnswer = { run_request: started, cancel_requested: false, lease_expires_at: AT }
const beginningAnswer = { ...runAnswer, run_token: 'irt_until-the-run-ends' }
const engineRun = {
  id: RUN_ID,
  project: 'greeter',
  project_id: PROJECT_ID,
  state: 'open',
  run_request_id: REQUEST_ID,
  attempt: 1,
  runner_id: 'laptop',
  throttle: 'dry_run',
  trace_id: TRACE_ID,
  evidence: [],
  opened_at: AT,
}
const token = {
  id: 'tok_5f0c1d2e3a4b5c6d7e8f9a0b',
  name: 'ada',
  state: 'active',
  roles: ['operator'],
  rights: [],
  projects: ['greeter'],
  created_at: AT,
}
const backup = {
  name: 'before-upgrade',
  state: 'completed',
  path: '/home/ada/.engine/backups/before-upgrade',
  begun_at: AT,
  ended_at: AT,
  bytes: 1_048_576,
  sequence: 87,
}
const jsonLines = (event: object): string => `${JSON.stringify({ id: EVENT_ID, ...event })}\n`
const composed = { event_type: 'greeting_composed', occurred_at: AT, payload: { greeting: 'Hello, world!' } }
const recorded = {
  ...composed,
  id: EVENT_ID,
  project: 'greeter',
  throttle: 'dry_run',
  trace_id: TRACE_ID,
  span_id: null,
  parent_span_id: null,
  causation_id: null,
  gather_id: null,
  recorded_at: AT,
  by: { id: 'laptop', name: 'runner:laptop' },
  run_request_id: REQUEST_ID,
}

/** Keys are `METHOD path`, as in the route list. */
export const examples: Readonly<Record<string, Example>> = {
  ...intentExamples,
  ...campaignExamples,
  ...workItemExamples,
  ...agentSessionExamples,
  ...initiativeExamples,
  ...sentinelExamples,
  'POST /api/projects': {
    body: { key: 'greeter', name: 'Greeter', max_writers: 4 },
    answer: { ...project, max_writers: 4 },
  },
  'GET /api/projects': { answer: { items: [project] } },
  'GET /api/projects/:id': { answer: project },
  'PATCH /api/projects/:id': { body: { name: 'The greeter' }, answer: { ...project, name: 'The greeter' } },
  'GET /api/projects/:id/charter': { answer: { mission: 'Greet everybody.' } },
  'PUT /api/projects/:id/charter': { body: { mission: 'Greet everybody.' }, answer: { mission: 'Greet everybody.' } },
  ...formationBriefExamples,
  ...engineCapabilityExamples,
  'POST /api/projects/:id/run-requests': {
    body: { entry_event: 'greet_requested', payload: { name: 'world' }, idempotency_key: 'first' },
    answer: runRequest,
  },
  'GET /api/run-requests': { answer: { items: [runRequest] } },
  'GET /api/projects/:id/run-requests': { answer: { items: [runRequest] } },
  'GET /api/run-requests/:id': {
    answer: {
      ...runRequest,
      waiting_because: { code: 'no_runner_registered', detail: 'No runner is registered.' },
    },
  },
  'POST /api/run-requests/cancel': {
    body: { project: 'greeter', state: 'queued', reason: 'The plan has changed.' },
    answer: { cancelled: [REQUEST_ID], refused: [], more: false },
  },
  'POST /api/run-requests/:id/cancel': {
    body: { reason: 'The plan has changed.' },
    answer: { ...runRequest, state: 'cancelled' },
  },
  'POST /api/run-requests/:id/requeue': { body: {}, answer: { ...runRequest, attempt: 2 } },
  'POST /api/run-requests/:id/fail': {
    body: { message: 'The machine burnt down.' },
    answer: { ...runRequest, state: 'failed' },
  },
  'POST /api/run-requests/:id/approve': { body: {}, answer: { ...runRequest, throttle: 'full', approved_by: BY } },
  'GET /api/runners/:runner_id/run-requests/next': {
    answer: {
      schema_version: 'intendant.execution_request.v1',
      request_id: REQUEST_ID,
      attempt: 1,
      offer_expires_at: AT,
      idempotency_key: 'first',
      project: { id: PROJECT_ID, key: 'greeter' },
      requested_by: BY,
      requested_at: AT,
      repo: {},
      engine: { entry_event: 'greet_requested', throttle: 'dry_run', access: 'full', payload: { name: 'world' } },
      reporting: { trace_summary_required: false, evidence_observations_required: false },
      trace: { trace_id: TRACE_ID, span_id: SPAN_ID, traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` },
    },
  },
  'POST /api/run-requests/:id/accepted': { body: { attempt: 1 }, answer: beginningAnswer },
  'POST /api/run-requests/:id/started': { body: { attempt: 1 }, answer: beginningAnswer },
  'POST /api/run-requests/:id/heartbeat': { body: { attempt: 1 }, answer: runAnswer },
  'POST /api/run-requests/:id/release': {
    body: { attempt: 1 },
    answer: { run_request: { ...runRequest, attempt: 2 }, cancel_requested: false },
  },
  'POST /api/run-requests/:id/events': {
    body: { attempt: 1, events: [composed] },
    answer: { ...runAnswer, accepted: 1, duplicates: 0, cursor: CURSOR },
  },
  'POST /api/run-requests/:id/completed': {
    body: { attempt: 1, result: { status: 'completed' } },
    answer: {
      run_request: { ...started, state: 'completed', result: { status: 'completed' } },
      cancel_requested: false,
    },
  },
  'POST /api/run-requests/:id/failed': {
    body: { attempt: 1, class: 'execution', message: 'Gates failed after 3 retries.' },
    answer: {
      run_request: {
        ...started,
        state: 'failed',
        failure: { class: 'execution', message: 'Gates failed after 3 retries.' },
      },
      cancel_requested: false,
    },
  },
  'GET /api/engine-runs/:id': { answer: engineRun },
  'POST /api/engine-runs/:id/trace-summary': {
    body: { blocks_executed: ['compose', 'deliver'] },
    answer: { ...engineRun, state: 'summarized', trace_summary: { blocks_executed: ['compose', 'deliver'] } },
  },
  'POST /api/engine-runs/:id/evidence-observations': {
    body: { observations: [{ result: 'pass', observed_by: 'engine', source_type: 'test_run', observed_at: AT }] },
    answer: engineRun,
  },
  'POST /api/runners': {
    body: { id: 'laptop', allowed_projects: ['greeter'], labels: ['linux'] },
    answer: { ...runner, presence: 'never_seen', in_flight: [], token: 'itd_shown-once' },
  },
  'GET /api/runners': { answer: { items: [{ ...runner, ...seen }] } },
  'GET /api/runners/:runner_id': { answer: { ...runner, ...seen } },
  'PATCH /api/runners/:runner_id': {
    body: { draining: true },
    answer: { ...runner, ...seen, state: 'draining', draining: true },
  },
  'POST /api/runners/:runner_id/token': { body: {}, answer: { token: 'itd_shown-once', previous_expires_at: AT } },
  'POST /api/runners/:runner_id/session': {
    body: { instance: 'b1946ac92492d234', version: '1.0.0' },
    answer: { ...runner, ...seen, session: { instance: 'b1946ac92492d234', version: '1.0.0', started_at: AT } },
  },
  'POST /api/events': {
    body: { events: [{ ...composed, project: 'greeter' }] },
    answer: { accepted: 1, duplicates: 0, events: [EVENT_ID], run_requests: [], cursor: CURSOR },
  },
  'GET /api/events': { answer: { items: [recorded], next_cursor: CURSOR } },
  'GET /api/events/:id': { answer: recorded },
  'GET /api/traces/:trace_id': {
    answer: {
      trace_id: TRACE_ID,
      complete: true,
      run_requests: [{ id: REQUEST_ID, state: 'completed' }],
      events: [recorded],
    },
  },
  'POST /engine/traces/:trace_id/ingest': {
    uploads: {
      'application/json': [{ id: EVENT_ID, project: 'greeter', throttle: 'dry_run', ...composed }],
      'application/x-ndjson': jsonLines(composed),
      'application/jsonl': jsonLines(composed),
      'application/x-jsonlines': jsonLines(composed),
    },
    answer: {
      trace_id: TRACE_ID,
      accepted: 1,
      duplicates: 0,
      refused_count: 1,
      refused: [{ line: 2, errors: [{ pointer: '/event_type', detail: 'may only be stated by the service' }] }],
      marked_count: 0,
      marked: [],
      cursor: CURSOR,
    },
  },
  'GET /api/attention': {
    answer: {
      items: [
        {
          kind: 'run_request',
          reason: 'lost',
          project: 'greeter',
          since: AT,
          run_request: { ...started, state: 'lost' },
        },
        {
          kind: 'run_request',
          reason: 'no_runner',
          project: 'greeter',
          since: AT,
          because: { code: 'no_runner_registered', detail: 'No runner is registered.' },
          run_request: runRequest,
        },
        {
          kind: 'stalled_project',
          reason: 'no_runner_online',
          project: 'greeter',
          since: AT,
          because: { code: 'no_runner_online', detail: 'Offline: r1.' },
          stalled_project: project,
        },
      ],
    },
  },
  'POST /api/tokens': {
    body: { name: 'ada', roles: ['operator'], projects: ['greeter'] },
    answer: { ...token, token: 'itd_shown-once' },
  },
  'GET /api/tokens/self': {
    answer: {
      kind: 'token',
      id: token.id,
      name: token.name,
      rights: ['view', 'work.submit', 'work.operate', 'event.emit', 'runner.manage'],
      projects: token.projects,
    },
  },
  'GET /api/tokens': { answer: { items: [token] } },
  'GET /healthz': { answer: { status: 'ok' } },
  'GET /readyz': { answer: { status: 'ready', quarantined: 0, set_aside: 0, passed_over: 0 } },
  'GET /problems/:code': {
    answer: {
      code: 'not_found',
      title: 'Not found',
      status: 404,
      action: 'Check the id; what a token may not see does not exist for it.',
      retryable: false,
    },
  },
  'GET /api/version': {
    answer: {
      name: 'intendant',
      version: '0.1.0',
      api_version: 1,
      node: 'v20.20.2',
      limits: {
        body_bytes_max: 1_048_576,
        events_body_bytes_max: 2_097_152,
        event_bytes_max: 524_288,
        offer_ms: 30_000,
        lease_ms: 60_000,
        grace_ms: 60_000,
        presence_ms: 180_000,
      },
      settings: { host: '127.0.0.1', port: 7171 },
    },
  },
  'POST /api/backups': {
    body: { name: 'before-upgrade' },
    answer: backup,
  },
  'GET /api/backups/:name': { answer: backup },
}
