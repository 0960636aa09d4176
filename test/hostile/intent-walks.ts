/**
 * Stories about a project's intent: a record and its drift, an inspection and its review, a brief from its draft to its
 * run.
 */
import { begun, post, type Stage, type Step, type StepAnswer, type Walk } from './story.ts'
import type { Caller } from './world.ts'

type Told = Generator<Step, any, StepAnswer>

/** An accepted record with one required evidence; undefined if it could not be made. */
function* acceptedRecord(stage: Stage): Told {
  const slug = `r-${stage.random.hex(12)}`
  const evidence = [{ description: stage.text(), gate_name: 'gate' }]
  const made = yield {
    operation: 'POST /projects/{id}/intent-records',
    caller: stage.person('intent.write'),
    params: [stage.project],
    body: { title: stage.text(), slug, capability: stage.text(), evidence, scope: { paths: ['src'] } },
    exact: true,
  }
  if (made.status !== 201) return undefined
  const accepted = yield moved(stage, made.body.id, 'accept')
  return accepted.status === 200 ? accepted.body : undefined
}

function moved(stage: Stage, id: string, move: string, body: Record<string, unknown> = {}): Step {
  const caller = stage.person('intent.accept')
  return { operation: `POST /api/intent-records/{id}/${move}`, caller, params: [id], body, exact: true }
}

/** Two records that are related by conflict and support; one is changed, and may be replaced by the other. */
export function* aRecord(stage: Stage): Walk {
  const [first, second] = [yield* acceptedRecord(stage), yield* acceptedRecord(stage)]
  if (first === undefined || second === undefined) return
  const writer = stage.person('intent.accept')
  const relationships = 'POST /api/intent-records/{id}/relationships'
  for (const type of ['conflicts_with', 'supports']) {
    const body = { type, to: second.id }
    yield { operation: relationships, caller: writer, params: [first.id], body, exact: true }
  }
  yield* lookedAt(stage, first.id)
  yield {
    operation: 'DELETE /api/intent-records/{id}/relationships/{relationship_id}',
    caller: writer,
    params: [first.id, `${first.id}.r1`],
  }
  yield {
    operation: 'PATCH /api/intent-records/{id}',
    caller: stage.person('intent.accept'),
    params: [first.id],
    headers: { 'If-Match': `"${first.version}"` },
    body: { capability: stage.text() },
    exact: true,
  }
  yield moved(stage, first.id, 'activate')
  const end = stage.random.pick(['supersede', 'deprecate', 'contradict'])
  yield moved(stage, first.id, end, end === 'supersede' ? { replacement: second.id } : {})
  yield { operation: 'GET /api/projects/{id}/intent-check', caller: stage.person('view'), params: [stage.project] }
}

/** An inspection whose hypotheses are accepted, accepted with changes, and rejected, in any order and repeatedly. */
export function* anInspection(stage: Stage): Walk {
  const { random } = stage
  const runner = random.chance(0.5)
  const drawn = (key: string) => ({
    key: `${key}-${random.hex(6)}`,
    title: stage.text(),
    confidence: random.next(),
    based_on: ['o'],
    possible_intent: { threat: stage.text() },
  })
  const body = {
    observations: [{ ref: 'o', summary: stage.text(), files: ['src/a.ts'] }],
    hypotheses: [drawn('a'), drawn('b')],
  }
  const caller = runner ? stage.runner() : stage.person('intent.write')
  const inspect = { operation: 'POST /projects/{id}/discoveries', caller, params: [stage.project], body, exact: true }
  const made = yield inspect
  if (made.status !== 201) return
  yield inspect
  yield { operation: 'GET /api/discoveries/{id}', caller: stage.person('view'), params: [made.body.id] }
  const reviewer = stage.person('intent.accept')
  for (const { hypothesis_id: id } of made.body.hypotheses) {
    const edited = random.chance(0.5) ? { record: { title: stage.text() } } : {}
    const accept = {
      operation: 'POST /hypotheses/{id}/accept',
      caller: reviewer,
      params: [id],
      body: edited,
      exact: true,
    }
    const reject = {
      operation: 'POST /api/hypotheses/{id}/reject',
      caller: reviewer,
      params: [id],
      body: { reason: stage.text() },
      exact: true,
    }
    for (const step of random.pick([
      [accept, accept, reject],
      [reject, accept],
    ]))
      yield step
    yield { operation: 'GET /api/hypotheses/{id}', caller: stage.person('view'), params: [id] }
  }
}

/** A brief from its draft to its digest, a run of it, and the drift that the run's evidence causes. */
export function* aBrief(stage: Stage): Walk {
  const { random } = stage
  const record = yield* acceptedRecord(stage)
  const brief = record === undefined ? undefined : yield* compiledBrief(stage, record.id)
  if (brief === undefined) return
  const runner = stage.runner()
  const given = yield* begun(stage, runner, { brief })
  if (given === undefined) return
  const { request_id, attempt } = given
  const compiled = { operation: 'GET /api/formation-briefs/{id}/compiled', params: [brief.id] }
  yield { ...compiled, caller: runner, query: { digest: brief.digest } }
  const started = yield post(runner, request_id, 'started', { attempt })
  if (started.status !== 200) return
  const run: string = started.body.run_request.engine_run_id
  yield observed(stage, runner, run, record)
  yield* lookedAt(stage, record.id)
  yield {
    operation: 'POST /engine/traces/{trace_id}/ingest',
    caller: runner,
    params: [given.trace.trace_id],
    body: { events: [{ event_type: 'seen', occurred_at: new Date().toISOString(), payload: { text: stage.text() } }] },
    exact: true,
  }
  yield post(runner, request_id, 'completed', { attempt, result: { status: 'completed' } })
  yield observed(stage, runner, run, record)
  if (random.chance(0.5)) yield moved(stage, record.id, 'contradict')
  yield { ...compiled, caller: stage.person('view') }
  const archive = 'POST /api/formation-briefs/{id}/archive'
  yield { operation: archive, caller: stage.person('intent.write'), params: [brief.id], body: {}, exact: true }
}

function* compiledBrief(stage: Stage, recordId: string): Told {
  const { random } = stage
  const made = yield {
    operation: 'POST /api/projects/{id}/formation-briefs',
    caller: stage.person('intent.write'),
    params: [stage.project],
    body: {
      mission: { objective: stage.text(), engineering_intent_refs: [recordId] },
      protected_capabilities: [{ id: recordId, statement: stage.text() }],
      evidence_plan: { required: [stage.text()] },
    },
    exact: true,
  }
  if (made.status !== 201) return undefined
  const { id } = made.body
  const move = (name: string, right: string, body: object = {}): Step => ({
    operation: `POST /api/formation-briefs/{id}/${name}`,
    caller: stage.person(right),
    params: [id],
    body: { ...body },
    exact: true,
  })
  yield {
    operation: 'PATCH /api/formation-briefs/{id}',
    caller: stage.person('intent.write'),
    params: [id],
    headers: { 'If-Match': `"${made.body.version}"` },
    body: { title: stage.text() },
    exact: true,
  }
  yield move('submit', 'intent.write')
  yield move('approve', 'approve.dry_run', { throttle: 'dry_run' })
  const compiled = yield move('compile-prompts', 'brief.compile')
  if (compiled.status !== 200) return undefined
  if (random.chance(0.5)) return { id, digest: compiled.body.digest }
  const edited = yield {
    operation: 'PUT /api/formation-briefs/{id}/prompts/{phase}',
    caller: stage.person('brief.compile'),
    params: [id, random.pick(['execution', 'retry'])],
    body: { prompt_text: stage.text() },
    exact: true,
  }
  if (edited.status !== 200) return undefined
  yield move('approve', 'approve.dry_run', { throttle: 'dry_run' })
  return { id, digest: edited.body.digest }
}

function observed({ random, text }: Stage, caller: Caller, run: string, { id, evidence }: any): Step {
  const about = random.pick(['evidence', 'threat', 'contradiction'])
  const named = about === 'evidence' ? { evidence_id: evidence[0].id } : { intent_record_id: id, about }
  const review_at = new Date(Date.now() + 86_400_000).toISOString()
  const waiver = { waived_by: text(), reason: text(), review_at }
  const result = random.pick(['pass', 'fail', 'fail', 'unknown', 'waived'])
  const seen = { observed_by: 'engine', source_type: 'test_run', observed_at: new Date().toISOString(), notes: text() }
  const observation = { ...named, ...seen, result, ...(result === 'waived' ? { waiver } : {}) }
  return {
    operation: 'POST /api/engine-runs/{id}/evidence-observations',
    caller,
    params: [run],
    body: { observations: [observation] },
    exact: true,
  }
}

/** The record's drift is read, classified, and a repair brief requested. */
function* lookedAt(stage: Stage, recordId: string): Walk {
  const drift = '/api/projects/{id}/drift/{record}'
  const params = [stage.project, recordId]
  const viewer = stage.person('view')
  yield { operation: 'GET /projects/{id}/drift', caller: viewer, params: [stage.project], query: { limit: '5' } }
  const classification = stage.random.pick(['real', 'allowed_exception', 'obsolete_intent', 'none'])
  const review_at = new Date(Date.now() + 86_400_000).toISOString()
  const excuse = classification === 'allowed_exception' ? { review_at } : {}
  yield {
    operation: `POST ${drift}/classify`,
    caller: stage.person('drift.classify'),
    params,
    body: { classification, reason: stage.text(), ...excuse },
    exact: true,
  }
  const repair = { operation: `POST ${drift}/repair-brief`, params, body: {}, exact: true }
  yield { ...repair, caller: stage.person('intent.write') }
  for (const path of [drift, `${drift}/history`]) yield { operation: `GET ${path}`, caller: viewer, params }
}
