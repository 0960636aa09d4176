/** Formation briefs over HTTP: written, reviewed, approved, compiled and run, and which right each step needs. */
import t from 'tap'
import { until } from '../until.ts'
import { acceptedRecord, briefIn, factsOf, rewriteRecord, runOf, sectionsFor, tellRecord } from './briefs.ts'
import { startOnDisk, startTestService, type TestService } from './service-harness.ts'

const REQUESTS = '/api/projects/shop/run-requests'
const compilePath = (id: string): string => `/formation-briefs/${id}/compile-prompts`

/** The brief once it is in that state; it learns of its run by message. */
function inState(s: TestService, path: string, state: string): Promise<any> {
  return until(
    async () => (await s.expect(200, 'GET', path)).body,
    (brief) => brief.state === state,
  )
}

const phasesOf = ({ prompt_pack }: any): string[] => prompt_pack.prompts.map(({ phase }: any) => phase)

async function start(t: Parameters<typeof startTestService>[0]) {
  const s = await startTestService(t)
  const project = await s.project('shop')
  const record = await acceptedRecord(s, project, 'one-order')
  return { s, project, record, sections: sectionsFor(record) }
}

t.test('a brief goes from draft to a compiled artifact, and each move is recorded as an event', async (t) => {
  const { s, record, sections } = await start(t)
  const made = await s.expect(201, 'POST', '/formation-briefs', { project: 'shop', ...sections, tradeoffs: ['speed'] })
  const { id } = made.body
  const path = `/api/formation-briefs/${id}`
  t.match(made.body, { state: 'draft', version: 1, throttle: 'dry_run', approvals: [], created_by: { name: 'admin' } })
  t.notOk('digest' in made.body, 'nothing is frozen yet')
  const changed = await s.expect(200, 'PATCH', path, { tradeoffs: null, title: 'Another' })
  t.match(changed.body, { title: 'Another', version: 2 })
  t.notOk('tradeoffs' in changed.body)
  t.equal(changed.headers.get('etag'), '"2"')
  await s.expect(200, 'POST', `${path}/submit`)
  const approved = (await s.expect(200, 'POST', `${path}/approve`, { throttle: 'full', revision: 'r1' })).body
  t.match(approved, { state: 'approved', approvals: [{ throttle: 'full', revision: 'r1', by: { name: 'admin' } }] })
  const compiled = (await s.expect(200, 'POST', compilePath(id))).body
  t.equal(compiled.digest, approved.approvals[0].digest, 'the compiled digest is the approved one')
  t.match(compiled.snapshot, {
    repo: { revision: 'r1' },
    source_intent: [{ id: record, version: 1 }],
    brief_version: 2,
  })
  t.same((await s.expect(200, 'GET', `${path}/compiled`)).body, compiled)
  t.same((await s.expect(200, 'POST', compilePath(id))).body, compiled, 'a second compile changes nothing')
  const archived = (await s.expect(200, 'POST', `${path}/archive`, { reason: 'done' })).body
  t.match(archived, { state: 'archived', reason: 'done', digest: compiled.digest })
  const facts = await factsOf(
    s,
    'formation_brief_created,formation_brief_updated,formation_brief_submitted,formation_brief_approved,formation_brief_compiled,prompt_pack_compiled,formation_brief_archived',
  )
  const { digest } = compiled
  const of = { formation_brief_id: id }
  t.same(facts, [
    ['formation_brief_created', { ...of, state: 'draft', throttle: 'dry_run', version: 1 }],
    ['formation_brief_updated', { ...of, state: 'draft', version: 2, changed: ['tradeoffs', 'title'] }],
    ['formation_brief_submitted', { ...of, state: 'reviewable', version: 2 }],
    ['formation_brief_approved', { ...of, state: 'approved', version: 2, digest, throttle: 'full', revision: 'r1' }],
    ['formation_brief_compiled', { ...of, state: 'compiled', version: 2, digest }],
    ['prompt_pack_compiled', { ...of, digest: compiled.prompt_pack.digest }],
    ['formation_brief_archived', { ...of, state: 'archived', version: 2, digest, reason: 'done' }],
  ])
})

t.test('a brief has an objective that is not blank', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  for (const objective of ['', ' ', '\n']) {
    const { body } = await s.expect(422, 'POST', '/formation-briefs', { project: 'shop', mission: { objective } })
    t.match(body.errors, [{ pointer: '/mission/objective' }])
  }
})

t.test('briefs are listed by state, and reviewable ones need attention', async (t) => {
  const { s, sections } = await start(t)
  const draft = await briefIn(s, 'draft', 'shop', sections)
  const reviewable = await briefIn(s, 'reviewable', 'shop', sections)
  const list = async (query: string) =>
    (await s.expect(200, 'GET', `/api/projects/shop/formation-briefs${query}`)).body.items.map(({ id }: any) => id)
  t.same(await list(''), [reviewable.id, draft.id])
  t.same(await list('?state=draft'), [draft.id])
  t.same(await list('?state=draft,reviewable'), [reviewable.id, draft.id])
  const { items } = (await s.expect(200, 'GET', '/api/attention?reason=reviewable')).body
  t.match(items, [{ kind: 'formation_brief', project: 'shop', formation_brief: { id: reviewable.id } }])
  await s.expect(200, 'POST', `${reviewable.path}/approve`, { throttle: 'dry_run' })
  t.same((await s.expect(200, 'GET', '/api/attention?reason=reviewable')).body.items, [])
})

t.test('a change or an approval of a brief that has changed since it was read is answered 412', async (t) => {
  const { s, sections } = await start(t)
  const { path } = await briefIn(s, 'reviewable', 'shop', sections)
  const first = { headers: { 'if-match': '"1"' } }
  await s.expect(200, 'PATCH', path, { title: 'Mine' }, first)
  t.equal((await s.expect(412, 'PATCH', path, { title: 'Theirs' }, first)).body.code, 'precondition_failed')
  const approve = { throttle: 'dry_run' }
  t.equal((await s.expect(412, 'POST', `${path}/approve`, approve, first)).body.code, 'precondition_failed')
  t.equal((await s.expect(200, 'GET', path)).body.state, 'reviewable')
  const second = { headers: { 'if-match': '"2"' } }
  await s.expect(200, 'POST', `${path}/approve`, approve, second)
  await s.expect(200, 'POST', `${path}/approve`, approve, second)
  const again = await s.expect(412, 'POST', `${path}/approve`, approve, first)
  t.equal(again.body.code, 'precondition_failed', 'repeated with an outdated version')
  t.equal((await s.expect(409, 'PATCH', path, { title: 'Late' })).body.code, 'illegal_move')
  t.equal(
    (await s.expect(400, 'PATCH', path, { title: 'x' }, { headers: { 'if-match': 'yes' } })).body.code,
    'invalid_header',
  )
  t.equal((await s.expect(422, 'PATCH', path, {})).body.code, 'invalid_body')
  t.equal((await s.expect(422, 'PATCH', path, { mission: null })).body.code, 'invalid_body')
})

t.test('approve and compile refuse an incomplete brief with a pointer to each fault', async (t) => {
  const { s, project, record, sections } = await start(t)
  const guess = await acceptedRecord(s, project, 'gone')
  await tellRecord(s, guess, { type: 'deprecate', reason: 'no' })
  const cases: [string, object][] = [
    ['/mission', { mission: { objective: 'x' }, protected_capabilities: [{ statement: 'y' }] }],
    ['/protected_capabilities', { protected_capabilities: [] }],
    ['/evidence_plan', { evidence_plan: {} }],
    ['/mission/product_intent_refs/1', { mission: { objective: 'x', product_intent_refs: [record, guess] } }],
    ['/mission/design_intent_refs/0', { mission: { objective: 'x', design_intent_refs: [`ir_${'0'.repeat(24)}`] } }],
  ]
  for (const [pointer, more] of cases) {
    const { path } = await briefIn(s, 'reviewable', 'shop', { ...sections, ...more })
    const refused = await s.expect(422, 'POST', `${path}/approve`, { throttle: 'dry_run' })
    t.match(refused.body, { code: 'brief_incomplete', errors: [{ pointer }], state: 'reviewable' }, pointer)
    await s.expect(200, 'PATCH', path, sections)
    t.equal(
      (await s.expect(200, 'POST', `${path}/approve`, { throttle: 'dry_run' })).body.state,
      'approved',
      'corrected',
    )
  }
  const passing = await acceptedRecord(s, project, 'passing')
  const later = await briefIn(s, 'approved', 'shop', sectionsFor(passing))
  await tellRecord(s, passing, { type: 'deprecate', reason: 'no' })
  t.match((await s.expect(422, 'POST', compilePath(later.id))).body, {
    code: 'brief_incomplete',
    errors: [{ pointer: '/mission/engineering_intent_refs/0' }, { pointer: '/protected_capabilities/0/id' }],
  })
  const { id, path } = await briefIn(s, 'draft', 'shop', sections)
  t.match((await s.expect(409, 'POST', compilePath(id))).body, { code: 'illegal_move', state: 'draft' })
  t.equal((await s.expect(404, 'GET', `${path}/compiled`)).body.code, 'not_found')
  const manifest = {
    engine: 'factory',
    engine_version: '1',
    supported_entry_events: ['scan_requested'],
    supported_throttle_modes: ['dry_run'],
  }
  await s.expect(201, 'POST', '/api/projects/shop/engine-capabilities', manifest)
  const controlled = { ...sections, engine_controls: { entry_event: 'execution_requested' } }
  const other = await briefIn(s, 'approved', 'shop', controlled)
  t.match((await s.expect(422, 'POST', compilePath(other.id))).body, {
    code: 'engine_incapable',
    detail: /execution_requested/,
  })
  const full = { ...sections, throttle: 'full', engine_controls: { entry_event: 'scan_requested' } }
  const third = await briefIn(s, 'approved', 'shop', full)
  t.equal((await s.expect(422, 'POST', compilePath(third.id))).body.code, 'engine_incapable')
  const fitting = { ...sections, engine_controls: { entry_event: 'scan_requested' } }
  await briefIn(s, 'compiled', 'shop', fitting)
})

t.test('a brief may name a record by its key, and other references stay external', async (t) => {
  const { s, record, sections } = await start(t)
  const mission = { objective: 'x', engineering_intent_refs: ['shop.intent.one-order', 'docs/adr/1.md'] }
  const { path } = await briefIn(s, 'compiled', 'shop', { ...sections, mission })
  const { snapshot } = (await s.expect(200, 'GET', `${path}/compiled`)).body
  t.match(snapshot, { source_intent: [{ id: record }], external_references: ['docs/adr/1.md'] })
})

t.test('compile requires a new approval when intent or revision differ from the approved ones', async (t) => {
  const { s, record, sections } = await start(t)
  const { id, path } = await briefIn(s, 'approved', 'shop', sections)
  await rewriteRecord(s, record, 'It works twice.')
  t.equal((await s.expect(409, 'POST', compilePath(id))).body.code, 'reapproval_required')
  await s.expect(200, 'POST', `${path}/approve`, { throttle: 'dry_run' })
  const { body } = await s.expect(200, 'POST', compilePath(id))
  t.match(body.snapshot.source_intent, [{ version: 2, capability: 'It works twice.' }])
  const other = await briefIn(s, 'approved', 'shop', { ...sections, repo: { revision: 'r1' } })
  t.equal((await s.expect(409, 'POST', compilePath(other.id), { revision: 'r2' })).body.code, 'reapproval_required')
  await tellRecord(s, record, { type: 'activate' })
  await s.expect(200, 'POST', compilePath(other.id), { revision: 'r1' })
})

t.test('a compiled artifact never changes, whatever becomes of its records', async (t) => {
  const { s, project, record, sections } = await start(t)
  const brief = await briefIn(s, 'compiled', 'shop', sections)
  const before = (await s.expect(200, 'GET', `${brief.path}/compiled`)).body
  const changes = [
    { type: 'update', patch: { capability: 'Another.', evidence: [{ description: 'new' }] }, may_rewrite: true },
    { type: 'activate' },
    { type: 'deprecate' },
    { type: 'contradict' },
  ]
  for (const change of changes) {
    await tellRecord(s, record, change)
    t.same((await s.expect(200, 'GET', `${brief.path}/compiled`)).body, before, change.type)
    t.equal((await s.expect(200, 'GET', brief.path)).body.digest, brief.digest)
    t.same((await s.expect(200, 'POST', compilePath(brief.id))).body, before)
  }
  await acceptedRecord(s, project, 'later')
  t.same((await s.expect(200, 'GET', `${brief.path}/compiled?digest=${brief.digest}`)).body, before)
})

t.test(
  'a run request names a compiled brief by its current digest, approved revision and unchanged intent',
  async (t) => {
    const { s, record, sections } = await start(t)
    const draft = await briefIn(s, 'approved', 'shop', sections)
    const digest = `sha256:${'0'.repeat(64)}`
    const refused = async (status: number, body: object) => {
      const { code, errors = [] } = (await s.expect(status, 'POST', REQUESTS, body)).body
      return [code, ...errors.map(({ pointer }: any) => pointer)].join(' ')
    }
    t.equal(await refused(422, runOf({ id: draft.id, digest })), 'brief_not_compiled /brief/id')
    t.equal(await refused(422, runOf({ id: `brief_${'0'.repeat(24)}`, digest })), 'unknown_brief /brief/id')
    const brief = await briefIn(s, 'compiled', 'shop', { ...sections, repo: { path: 'git@host:shop', revision: 'r1' } })
    t.equal(await refused(422, runOf({ id: brief.id, digest })), 'brief_digest_mismatch /brief/digest')
    const other = { ...runOf(brief), repo: { revision: 'r2' } }
    t.equal(await refused(409, other), 'reapproval_required', 'another revision than the approved one')
    await s.expect(200, 'POST', `${brief.path}/approve`, { throttle: 'dry_run', revision: 'r2' })
    t.match((await s.expect(201, 'POST', REQUESTS, other)).body.repo, { path: 'git@host:shop', revision: 'r2' })
    const made = (await s.expect(201, 'POST', REQUESTS, runOf(brief, { idempotency_key: 'first' }))).body
    t.same(made.repo, { path: 'git@host:shop', revision: 'r1' }, 'the revision that the brief was compiled for')
    await rewriteRecord(s, record, 'Something else.')
    t.equal(await refused(409, runOf(brief, { payload: { n: 2 } })), 'reapproval_required', 'the intent has changed')
    const again = runOf(brief, { idempotency_key: 'first' })
    t.equal((await s.expect(200, 'POST', REQUESTS, again)).body.id, made.id, 'the request made before is found')
    await s.expect(200, 'POST', `${brief.path}/approve`, { throttle: 'dry_run' })
    await s.expect(201, 'POST', REQUESTS, runOf(brief, { payload: { n: 2 } }))
  },
)

t.test('a full run of a brief is handed out once the brief or the run itself is approved for full', async (t) => {
  const { s, sections } = await start(t)
  const token = await s.runner('r1', { trusted: true, capacity: 9 })
  const poll = () => s.call('GET', '/api/runners/r1/run-requests/next', undefined, { token })
  const brief = await briefIn(s, 'compiled', 'shop', sections)
  const waiting = (await s.expect(201, 'POST', REQUESTS, runOf(brief, { throttle: 'full' }))).body
  t.equal((await poll()).status, 204, 'an approval for dry_run does not cover full')
  const read = (await s.expect(200, 'GET', `/api/run-requests/${waiting.id}`)).body
  t.equal(read.waiting_because.code, 'not_approved')
  await s.expect(200, 'POST', `${brief.path}/approve`, { throttle: 'full' })
  const offer = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, { token })
  t.equal(offer.body.request_id, waiting.id, 'the approval of its brief releases it')
  t.match((await s.expect(200, 'GET', `/api/run-requests/${waiting.id}`)).body.approved_by, { name: 'admin' })
  await s.expect(
    200,
    'POST',
    `/api/run-requests/${waiting.id}/completed`,
    { result: { status: 'completed' } },
    { token },
  )
  const approved = (await s.expect(201, 'POST', REQUESTS, runOf(brief, { throttle: 'full', payload: { n: 2 } }))).body
  t.match(approved, { state: 'queued', approved_by: { name: 'admin' } })
  t.equal((await poll()).body.request_id, approved.id)
  await s.expect(
    200,
    'POST',
    `/api/run-requests/${approved.id}/completed`,
    { result: { status: 'completed' } },
    { token },
  )
  const once = runOf(brief, { throttle: 'full', payload: { n: 2 } })
  t.equal((await s.expect(200, 'POST', REQUESTS, once)).body.id, approved.id, 'the same request is found, not repeated')
  const repeated = (await s.expect(201, 'POST', REQUESTS, { ...once, again: true })).body
  t.equal(repeated.approved_by, undefined, 'a repetition needs its own approval')
  t.equal((await poll()).status, 204)
  await s.expect(200, 'POST', `/api/run-requests/${repeated.id}/cancel`)
  const retry = { max_attempts: 3, on: ['execution'], backoff_seconds: 0 }
  const more = { throttle: 'full', payload: { n: 3 }, retry }
  const policy = (await s.expect(201, 'POST', REQUESTS, runOf(brief, more))).body
  t.equal(policy.approved_by, undefined, "the brief's approval does not cover retries")
  for (const [n, repo] of [{ path: '/srv/other' }, { branch: 'release' }].entries()) {
    const other = runOf(brief, { throttle: 'full', payload: { other: n }, repo })
    const made = (await s.expect(201, 'POST', REQUESTS, other)).body
    t.equal(made.approved_by, undefined, `the brief's approval does not cover ${JSON.stringify(repo)}`)
    await s.expect(200, 'POST', `${brief.path}/approve`, { throttle: 'full' })
    t.equal((await poll()).status, 204, 'nor does a later approval of the brief')
  }
  t.equal((await poll()).status, 204)
  await s.expect(200, 'POST', `/api/run-requests/${policy.id}/approve`)
  t.equal((await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, { token })).status, 200)
})

t.test(
  'a brief follows its run from queued to analyzed, and returns to compiled when it fails, is cancelled or lost',
  async (t) => {
    const { s, record, sections } = await start(t)
    const token = await s.runner('r1', { capacity: 9 })
    const as = { token }
    const brief = await briefIn(s, 'compiled', 'shop', sections)
    const come = (state: string) => inState(s, brief.path, state)
    const post = (id: string, name: string, body: object = {}) =>
      s.expect(200, 'POST', `/api/run-requests/${id}/${name}`, body, as)
    const ask = async (n: number) => {
      const made = (await s.expect(201, 'POST', REQUESTS, runOf(brief, { payload: { n } }))).body
      await come('queued')
      await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, as)
      return made.id as string
    }
    const first = await ask(1)
    await post(first, 'accepted')
    await come('accepted')
    await post(first, 'release')
    // The runner gave it back.
    await come('queued')
    await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, as)
    const started = (await post(first, 'started', { attempt: 2 })).body.run_request
    t.match(await come('executing'), { run: { run_request_id: first, state: 'started' } })
    await post(first, 'completed', { attempt: 2, result: { status: 'completed' } })
    await come('completed')
    const observation = { observed_by: 'engine', source_type: 'test_run', observed_at: '2026-01-01T00:00:00Z' }
    const observations = [
      { ...observation, result: 'pass', intent_record_id: record },
      { ...observation, result: 'pass', notes: 'of the run only' },
    ]
    const run = `/api/engine-runs/${started.engine_run_id}`
    await s.expect(200, 'POST', `${run}/evidence-observations`, { observations }, as)
    t.match(await come('analyzed'), { run: { observations: 1 } })
    t.match((await s.expect(200, 'GET', run)).body, { formation_brief_id: brief.id, evidence: [{}, {}] })

    const second = await ask(2)
    await post(second, 'failed', { class: 'execution', message: 'tests failed' })
    t.match(await come('compiled'), { reason: 'the run failed: tests failed', run: { state: 'failed' } })
    const third = await ask(3)
    await s.expect(200, 'POST', `/api/run-requests/${third}/cancel`, { reason: 'not now' })
    t.match(await come('compiled'), { reason: 'the run was cancelled: not now' })
    const fourth = await ask(4)
    await post(fourth, 'started')
    await s.expect(200, 'POST', '/api/runners/r1/session', { instance: 'new', version: '1' }, as)
    t.match(await come('compiled'), { reason: /^the run was lost/ })
    await post(fourth, 'heartbeat')
    // The lost run is heard of again.
    await come('executing')
    t.equal((await s.expect(409, 'POST', `${brief.path}/archive`)).body.code, 'illegal_move', 'its run is in progress')
    const states = (await factsOf(s, 'formation_brief_run_changed')).map(([, { state }]) => state)
    t.same(states, [
      ...['queued', 'accepted', 'queued', 'executing', 'completed', 'analyzed'],
      ...['queued', 'executing', 'compiled'],
      ...['queued', 'compiled'],
      ...['queued', 'executing', 'compiled', 'executing'],
    ])
  },
)

t.test('an edited prompt yields a new artifact, which must be approved before it runs', async (t) => {
  const { s, sections } = await start(t)
  const reviewed = { ...sections, agent_formation: { roles: [{ name: 'reviewer' }] } }
  const brief = await briefIn(s, 'compiled', 'shop', reviewed)
  const before = (await s.expect(200, 'GET', `${brief.path}/compiled`)).body
  const put = (phase: string, body: object, status = 200) =>
    s.expect(status, 'PUT', `${brief.path}/prompts/${phase}`, body)
  const edited = (await put('execution', { prompt_text: 'One step.', reason: 'smaller' })).body
  t.not(edited.digest, before.digest)
  t.not(edited.prompt_pack.digest, before.prompt_pack.digest)
  t.match(edited.prompt_pack.human_edits, [
    { phase: 'execution', reason: 'smaller', by: { name: 'admin' }, previous_digest: before.prompt_pack.digest },
  ])
  t.same((await put('execution', { prompt_text: 'One step.' })).body, edited, 'the same text again is no edit')
  const added = (await put('review', { prompt_text: 'Look closely.' })).body
  t.same(phasesOf(added), phasesOf(before), 'the order of phases is unchanged')
  const now = { id: brief.id, digest: added.digest }
  t.equal((await s.expect(409, 'POST', REQUESTS, runOf(now))).body.code, 'reapproval_required')
  t.equal((await s.expect(422, 'POST', REQUESTS, runOf(brief))).body.code, 'brief_digest_mismatch')
  await s.expect(200, 'POST', `${brief.path}/approve`, { throttle: 'dry_run' })
  await s.expect(201, 'POST', REQUESTS, runOf(now))
  for (const artifact of [before, edited, added]) {
    const read = await s.expect(200, 'GET', `${brief.path}/compiled?digest=${artifact.digest}`)
    t.same(read.body, artifact, 'every artifact can be read')
  }
  t.equal((await s.expect(404, 'GET', `${brief.path}/compiled?digest=sha256:${'0'.repeat(64)}`)).body.code, 'not_found')
  t.equal((await put('lunch', { prompt_text: 'x' }, 404)).body.code, 'not_found')
  t.equal((await put('retry', { prompt_text: 'x' }, 409)).body.code, 'illegal_move', 'not while a run is in progress')
  const draft = await briefIn(s, 'draft', 'shop', sections)
  const early = await s.expect(409, 'PUT', `${draft.path}/prompts/retry`, { prompt_text: 'x' })
  t.match(early.body, { code: 'illegal_move', state: 'draft' })
  const facts = await factsOf(s, 'prompt_pack_edited')
  t.same(facts[0]![1], {
    digest: edited.prompt_pack.digest,
    formation_brief_id: brief.id,
    phase: 'execution',
    previous_digest: before.prompt_pack.digest,
  })
})

t.test('editing a prompt of a phase that the pack does not have, or to a blank one, is refused', async (t) => {
  const { s, sections } = await start(t)
  const { path } = await briefIn(s, 'compiled', 'shop', sections)
  const before = (await s.expect(200, 'GET', `${path}/compiled`)).body
  const refused = await s.expect(404, 'PUT', `${path}/prompts/review`, { prompt_text: 'Look closely.' })
  t.match(refused.body, {
    code: 'not_found',
    detail: /no phase review; the phases are assessment, .*, summarization\.$/,
  })
  const blank = await s.expect(422, 'PUT', `${path}/prompts/execution`, { prompt_text: ' \n' })
  t.match(blank.body.errors, [{ pointer: '/prompt_text' }])
  t.same((await s.expect(200, 'GET', `${path}/compiled`)).body, before)
})

t.test('editing a prompt is answered 404 if the compiled artifact is not found', async (t) => {
  const { s, sections } = await start(t)
  const { path } = await briefIn(s, 'compiled', 'shop', sections)
  const { runtime } = s.service
  const read = runtime.read.bind(runtime)
  runtime.read = (ref) => {
    const found = read(ref)
    if (ref.kind !== 'compiled_brief' || found === undefined) return found
    return { ...found, context: { ...found.context, formation_brief_id: 'of another' } }
  }
  t.equal((await s.expect(404, 'GET', `${path}/compiled`)).body.code, 'not_found')
  t.equal((await s.expect(404, 'PUT', `${path}/prompts/retry`, { prompt_text: 'x' })).body.code, 'not_found')
})

t.test('submit is answered 412 if the draft has changed since it was read', async (t) => {
  const { s, sections } = await start(t)
  const { path } = await briefIn(s, 'draft', 'shop', sections)
  const submit = (status: number, tag: string) =>
    s.expect(status, 'POST', `${path}/submit`, undefined, { headers: { 'if-match': tag } })
  await s.expect(200, 'PATCH', path, { title: 'Another' })
  t.equal((await submit(412, '"1"')).body.code, 'precondition_failed')
  t.equal((await submit(400, '2')).body.code, 'invalid_header')
  t.equal((await s.expect(200, 'GET', path)).body.state, 'draft')
  await submit(200, '"2"')
  await submit(200, '"2"')
  await submit(412, '"1"')
})

t.test('approving or editing prompts is answered 412 if somebody has edited them since they were read', async (t) => {
  const { s, sections } = await start(t)
  const { id, path } = await briefIn(s, 'approved', 'shop', sections)
  await s.expect(200, 'POST', compilePath(id))
  const read = await s.expect(200, 'GET', path)
  const ifMatch = { 'if-match': read.headers.get('etag')! }
  const put = (status: number, prompt_text: string, headers: Record<string, string>) =>
    s.expect(status, 'PUT', `${path}/prompts/execution`, { prompt_text }, { headers })
  await put(200, 'Mine.', ifMatch)
  t.match((await put(412, 'Yours.', ifMatch)).body, { code: 'precondition_failed' })
  const approve = (status: number, headers: Record<string, string>) =>
    s.expect(status, 'POST', `${path}/approve`, { throttle: 'full' }, { headers })
  t.match((await approve(412, ifMatch)).body, { code: 'precondition_failed' })
  const now = await s.expect(200, 'GET', path)
  t.equal(now.body.version, read.body.version + 1)
  await approve(200, { 'if-match': now.headers.get('etag')! })
})

t.test(
  'of concurrent prompt edits the later ones are refused, and concurrent compiles and approvals all succeed',
  async (t) => {
    const { s, sections } = await start(t)
    const approved = await briefIn(s, 'approved', 'shop', sections)
    const compiles = await Promise.all([1, 2, 3, 4].map(() => s.expect(200, 'POST', compilePath(approved.id))))
    t.equal(new Set(compiles.map(({ body }) => body.digest)).size, 1)
    const put = (text: string) => s.call('PUT', `${approved.path}/prompts/retry`, { prompt_text: text })
    const edits = await Promise.all(['a', 'b', 'c'].map(put))
    const taken = edits.filter(({ status }) => status === 200)
    t.ok(taken.length >= 1)
    for (const { status, body } of edits) if (status !== 200) t.match([status, body.code], [412, 'precondition_failed'])
    const { prompt_pack } = (await s.expect(200, 'GET', `${approved.path}/compiled`)).body
    t.equal(prompt_pack.human_edits.length, taken.length, 'no edit was lost silently')
    const tokens = await Promise.all(['x', 'y', 'z'].map((name) => s.token(name, { roles: ['approver'] })))
    const approve = (token: string) =>
      s.expect(200, 'POST', `${approved.path}/approve`, { throttle: 'full' }, { token })
    await Promise.all(tokens.map(approve))
    const { approvals } = (await s.expect(200, 'GET', approved.path)).body
    t.same(
      approvals
        .slice(-3)
        .map(({ by }: any) => by.name)
        .sort(),
      ['x', 'y', 'z'],
    )
    await approve(tokens[0]!)
    t.equal(
      (await s.expect(200, 'GET', approved.path)).body.approvals.length,
      approvals.length,
      'a repeated approval counts once',
    )
  },
)

t.test('each move of a brief needs its own right, and no other right suffices', async (t) => {
  const { s, sections } = await start(t)
  const only = async (...rights: string[]) => ({
    token: await s.token(rights.join('+'), { rights: ['view', ...rights] }),
  })
  const writer = await only('intent.write')
  const compiler = await only('brief.compile')
  const dry = await only('approve.dry_run')
  const full = await only('approve.full')
  const submitter = await only('work.submit')
  const all = { writer, compiler, dry, full, submitter }
  const made = (await s.expect(201, 'POST', '/api/projects/shop/formation-briefs', sections, writer)).body
  const path = `/api/formation-briefs/${made.id}`
  const mayOnly = async (allowed: (keyof typeof all)[], method: string, at: string, body?: object) => {
    for (const [name, as] of Object.entries(all)) {
      if (allowed.includes(name as keyof typeof all)) continue
      t.equal((await s.expect(403, method, at, body, as)).body.code, 'forbidden', `${method} ${at} by ${name}`)
    }
    let last: any
    for (const name of allowed) last = await s.call(method, at, body, all[name])
    t.ok([200, 201].includes(last.status), `${method} ${at} by ${allowed}: ${last.status}`)
    return last
  }
  await mayOnly(['writer'], 'PATCH', path, { title: 'Mine' })
  await mayOnly(['writer'], 'POST', `${path}/submit`, {})
  await mayOnly(['dry'], 'POST', `${path}/approve`, { throttle: 'dry_run' })
  await mayOnly(['full'], 'POST', `${path}/approve`, { throttle: 'full' })
  const compiled = await mayOnly(['compiler'], 'POST', compilePath(made.id), {})
  await mayOnly(
    ['submitter'],
    'POST',
    REQUESTS,
    runOf({ id: made.id, digest: compiled.body.digest }, { idempotency_key: 'k' }),
  )
  await s.expect(200, 'POST', `/api/run-requests/cancel`, { project: 'shop' })
  await inState(s, path, 'compiled')
  await mayOnly(['compiler'], 'PUT', `${path}/prompts/retry`, { prompt_text: 'again' })
  await mayOnly(['writer'], 'POST', `${path}/archive`, {})
  for (const as of Object.values(all)) await s.expect(200, 'GET', `${path}/compiled`, undefined, as)
})

t.test(
  'a brief is hidden from tokens of other projects, and a brief cannot use records of other projects',
  async (t) => {
    const { s, record, sections } = await start(t)
    await s.project('theirs')
    const brief = await briefIn(s, 'compiled', 'shop', sections)
    const token = await s.token('confined', { roles: ['admin'], projects: ['theirs'] })
    const hidden: [string, string, unknown?][] = [
      ['GET', brief.path],
      ['GET', `/formation-briefs/${brief.id}`],
      ['GET', `${brief.path}/compiled`],
      ['GET', '/api/projects/shop/formation-briefs'],
      ['PATCH', brief.path, { title: 'x' }],
      ['POST', `${brief.path}/submit`, {}],
      ['POST', `${brief.path}/approve`, { throttle: 'full' }],
      ['POST', compilePath(brief.id), {}],
      ['PUT', `${brief.path}/prompts/retry`, { prompt_text: 'x' }],
      ['POST', `${brief.path}/archive`, {}],
    ]
    for (const [method, path, body] of hidden) {
      t.equal((await s.expect(404, method, path, body, { token })).body.code, 'not_found', `${method} ${path}`)
    }
    t.same((await s.expect(200, 'GET', '/api/attention', undefined, { token })).body.items, [])
    const stranger = await briefIn(s, 'reviewable', 'theirs', sectionsFor(record))
    const refused = await s.expect(422, 'POST', `${stranger.path}/approve`, { throttle: 'dry_run' })
    t.match(refused.body.errors, [{ detail: /is not an intent record of the project/ }, {}])
    const run = await s.expect(422, 'POST', '/api/projects/theirs/run-requests', runOf(brief))
    t.equal(run.body.code, 'unknown_brief')
  },
)

t.test('a runner reads the briefs of the runs that it holds or held, and no others', async (t) => {
  const { s, sections } = await start(t)
  const own = { token: await s.runner('r1') }
  const other = { token: await s.runner('r2') }
  const brief = await briefIn(s, 'compiled', 'shop', sections)
  const unrelated = await briefIn(s, 'compiled', 'shop', { ...sections, title: 'Another' })
  const request = (await s.expect(201, 'POST', REQUESTS, runOf(brief))).body
  await s.expect(404, 'GET', `${brief.path}/compiled`, undefined, own)
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, own)
  for (const path of [brief.path, `/formation-briefs/${brief.id}`, `${brief.path}/compiled`]) {
    await s.expect(200, 'GET', path, undefined, own)
    await s.expect(404, 'GET', path, undefined, other)
  }
  await s.expect(404, 'GET', `${unrelated.path}/compiled`, undefined, own)
  await s.expect(200, 'POST', `/api/run-requests/${request.id}/completed`, { result: { status: 'completed' } }, own)
  await s.expect(200, 'GET', `${brief.path}/compiled`, undefined, own)
})

t.test("observations are accepted only about records of the run's project, and each about one record", async (t) => {
  const { s, project, record, sections } = await start(t)
  const theirs = await acceptedRecord(s, await s.project('theirs'), 'one')
  const second = await acceptedRecord(s, project, 'two')
  const token = await s.runner('r1')
  const brief = await briefIn(s, 'compiled', 'shop', sections)
  const request = (await s.expect(201, 'POST', REQUESTS, runOf(brief))).body
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, { token })
  const started = await s.expect(200, 'POST', `/api/run-requests/${request.id}/started`, {}, { token })
  const path = `/api/engine-runs/${started.body.run_request.engine_run_id}/evidence-observations`
  const seen = { result: 'pass', observed_by: 'engine', source_type: 'test_run', observed_at: '2026-01-01T00:00:00Z' }
  const post = (status: number, ...observations: object[]) =>
    s.expect(status, 'POST', path, { observations }, { token })
  const odd: [string, object][] = [
    ['/observations/1/intent_record_id', { intent_record_id: theirs }],
    ['/observations/1/intent_record_id', { intent_record_id: `ir_${'0'.repeat(24)}` }],
    ['/observations/1/evidence_id', { evidence_id: `${theirs}.e1` }],
    ['/observations/1/evidence_id', { intent_record_id: record, evidence_id: `${second}.e1` }],
  ]
  for (const [pointer, more] of odd) {
    const refused = await post(422, seen, { ...seen, ...more })
    t.match(refused.body, { code: 'invalid_body', errors: [{ pointer }] })
  }
  await post(200, { ...seen, intent_record_id: record }, { ...seen, intent_record_id: second })
  const observed = async (id: string): Promise<number> =>
    (await s.expect(200, 'GET', `/api/projects/shop/drift/${id}`)).body.observations
  for (const id of [record, second])
    await until(
      () => observed(id),
      (count) => count === 1,
    )
  const analyzed = await until(
    async () => (await s.expect(200, 'GET', brief.path)).body,
    ({ run }) => run.observations > 0,
  )
  t.equal(analyzed.run.observations, 1, 'the brief does not cover the second record')
})

t.test('a brief, its artifact and its run survive a restart, and the run continues', async (t) => {
  const home = t.testdir()
  const first = await startOnDisk(t, home)
  const project = await first.project('shop')
  const record = await acceptedRecord(first, project, 'one-order')
  const token = await first.runner('r1')
  const brief = await briefIn(first, 'compiled', 'shop', sectionsFor(record))
  const compiled = (await first.expect(200, 'GET', `${brief.path}/compiled`)).body
  const request = (await first.expect(201, 'POST', REQUESTS, runOf(brief))).body
  await first.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, { token })
  await first.expect(200, 'POST', `/api/run-requests/${request.id}/started`, {}, { token })
  await first.service.close()

  const s = await startOnDisk(t, home)
  t.equal((await s.expect(200, 'GET', brief.path)).body.state, 'executing')
  t.same((await s.expect(200, 'GET', `${brief.path}/compiled`)).body, compiled)
  await s.expect(
    200,
    'POST',
    `/api/run-requests/${request.id}/completed`,
    { result: { status: 'completed' } },
    { token },
  )
  t.equal((await inState(s, brief.path, 'completed')).state, 'completed')
})
