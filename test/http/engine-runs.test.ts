/** Engine runs: whose reports about them are accepted. */
import t from 'tap'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { type Intent, intentOf } from './intent-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

t.test('reports on an engine run are accepted from its own runner, not from that of an earlier attempt', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const [first, second] = [{ token: await s.runner('r1') }, { token: await s.runner('r2') }]
  const { id } = await s.request('greeter')
  const runOf = async (runner: string, as: { token: string }, attempt: number): Promise<string> => {
    await s.expect(200, 'GET', `/api/runners/${runner}/run-requests/next`, undefined, as)
    const accepted = await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, { attempt }, as)
    return accepted.body.run_request.engine_run_id
  }
  const earlier = await runOf('r1', first, 1)
  await s.expect(200, 'POST', `/api/run-requests/${id}/release`, {}, first)
  const later = await runOf('r2', second, 2)
  t.not(later, earlier)
  const summary = { blocks_executed: ['a'] }
  const seen = { result: 'pass', observed_by: 'engine', source_type: 'test_run', observed_at: '2026-01-31T12:00:00Z' }
  for (const [name, body] of [
    ['trace-summary', summary],
    ['evidence-observations', { observations: [seen] }],
  ] as const) {
    const refused = await s.expect(403, 'POST', `/api/engine-runs/${later}/${name}`, body, first)
    t.match(refused.body, { code: 'not_the_runner', detail: /attempt 2/ })
    await s.expect(200, 'POST', `/api/engine-runs/${earlier}/${name}`, body, first)
    await s.expect(200, 'POST', `/api/engine-runs/${later}/${name}`, body, second)
  }
})

t.test('an engine run that a runner named belongs to that attempt: a later one cannot name it again', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const [first, second] = [{ token: await s.runner('r1') }, { token: await s.runner('r2') }]
  const { id } = await s.request('greeter')
  const engine_run_id = `run_${'9'.repeat(24)}`
  const poll = (runner: string, as: { token: string }) =>
    s.expect(200, 'GET', `/api/runners/${runner}/run-requests/next`, undefined, as)
  const accept = (attempt: number, as: { token: string }, name: object = { engine_run_id }) =>
    s.call('POST', `/api/run-requests/${id}/accepted`, { attempt, ...name }, as)
  await poll('r1', first)
  t.equal((await accept(1, first)).status, 200)
  t.match(await accept(1, first), { status: 200, body: { already_accepted: true } }, 'its own attempt may repeat it')
  await s.expect(200, 'POST', `/api/run-requests/${id}/release`, {}, first)
  await poll('r2', second)
  t.match(await accept(2, second), { status: 422, body: { code: 'engine_run_taken', detail: /attempt 1/ } })
  t.match(await accept(1, first), { status: 409, body: { code: 'stale_attempt' } }, 'whose attempt it was is told so')
  const own = await accept(2, second, {})
  t.equal(own.status, 200)
  const later = { engine_run_id: own.body.run_request.engine_run_id }
  t.match(await accept(1, first, later), { status: 409, body: { code: 'stale_attempt' } })
  const unnumbered = await s.call('POST', `/api/run-requests/${id}/accepted`, later, second)
  t.match(unnumbered, { status: 422, body: { code: 'attempt_required' } })
  const path = `/api/engine-runs/${own.body.run_request.engine_run_id}/trace-summary`
  await s.expect(200, 'POST', path, { blocks_executed: ['a'] }, second)
})

t.test('a report on an engine run neither keeps the lease of its run nor brings a lost one back', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  await s.project('greeter')
  const as = { token: await s.runner('r1') }
  const { id } = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, as)
  const { run_request } = (await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, as)).body
  const report = () =>
    s.expect(200, 'POST', `/api/engine-runs/${run_request.engine_run_id}/trace-summary`, { blocks_executed: [] }, as)
  const read = async () => (await s.expect(200, 'GET', `/api/run-requests/${id}`)).body
  platform.advance(50_000)
  await report()
  const endOf = ({ lease_expires_at }: any): number => Date.parse(lease_expires_at)
  // Worked out from two clocks each time: only the milliseconds may differ. A renewal would move it by 50 s.
  t.ok(Math.abs(endOf(await read()) - endOf(run_request)) < 1_000)
  platform.advance(20_000)
  await until(read, ({ state }) => state === 'lost')
  await report()
  t.equal((await read()).state, 'lost')
  const kept = await s.expect(200, 'POST', `/api/run-requests/${id}/heartbeat`, { attempt: 1 }, as)
  t.equal(kept.body.run_request.state, 'started')
})

const EVIDENCE = [{ description: 'the restart test passes' }, { description: 'no map in memory', required: false }]
const DAY = 86_400_000

/** A running engine run, an accepted record with two entries of evidence, and how to post observations on the run. */
async function observing(s: TestService) {
  const intent = await intentOf(s)
  const record = await intent.record({ slug: 'one', evidence: EVIDENCE }, 'accepted')
  const as = { token: await s.runner('r1') }
  const { id } = await s.request('shop')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, as)
  const started = await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, as)
  const path = `/api/engine-runs/${started.body.run_request.engine_run_id}/evidence-observations`
  const seen = (more: object) => ({
    result: 'pass',
    observed_by: 'engine',
    source_type: 'test_run',
    observed_at: new Date(s.service.runtime.platform.wallMs()).toISOString(),
    ...more,
  })
  const post = (status: number, ...observations: object[]) => s.expect(status, 'POST', path, { observations }, as)
  return { intent, record, seen, post }
}

/** The drift of the only record, once that many observations have reached it. */
const reached = (intent: Intent, count: number) =>
  until(
    async () => (await intent.drift())[0],
    ({ observations }) => observations === count,
  )

t.test(
  'an observation of unknown evidence is refused; one of evidence since removed is recorded without effect',
  async (t) => {
    const s = await startTestService(t)
    const { intent, record, seen, post } = await observing(s)
    const first = seen({ evidence_id: `${record.id}.e1` })
    const refused = await post(422, first, seen({ evidence_id: `${record.id}.e3`, result: 'fail' }))
    t.match(refused.body, {
      code: 'invalid_body',
      errors: [{ pointer: '/observations/1/evidence_id', detail: `must be one of ${record.id}.e1 to .e2` }],
    })
    await post(200, first)
    t.equal((await reached(intent, 1)).status, 'holding')

    const patch = { evidence: [{ description: 'another' }] }
    await s.expect(200, 'PATCH', `/api/intent-records/${record.id}`, patch, { headers: { 'if-match': '*' } })
    await post(200, seen({ evidence_id: `${record.id}.e3` }))
    t.equal((await reached(intent, 2)).status, 'holding')
    const late = await post(200, seen({ evidence_id: `${record.id}.e2`, result: 'fail' }))
    t.equal(late.body.evidence.length, 3)
    t.equal((await reached(intent, 3)).status, 'holding')
    const bare = await intent.record({ slug: 'two' })
    const none = await post(422, seen({ evidence_id: `${bare.id}.e1` }))
    t.match(none.body.errors, [{ detail: /must be left out/ }])

    const stranger = await post(422, seen({ intent_record_id: `ir_${'0'.repeat(24)}` }))
    const expected = { pointer: '/observations/0/intent_record_id', detail: 'must name an intent record of shop' }
    t.match(stranger.body.errors, [expected])
    await s.project('bank')
    const theirs = (await s.expect(201, 'POST', '/api/projects/bank/intent-records', { title: 'x' })).body
    t.match((await post(422, seen({ intent_record_id: theirs.id }))).body.errors, [expected])
    t.match((await post(422, seen({ evidence_id: `${theirs.id}.e1` }))).body.errors, [
      { pointer: '/observations/0/evidence_id', detail: 'must name an intent record of shop' },
    ])
    const two = await post(422, seen({ intent_record_id: bare.id, evidence_id: `${record.id}.e1` }))
    t.match(two.body.errors, [{ pointer: '/observations/0/evidence_id', detail: /must belong to the record/ }])
  },
)

t.test('a waiver needs a review date after its observation, and is accepted late or repeated', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const { intent, record, seen, post } = await observing(s)
  const day = (days: number) => new Date(platform.wallMs() + days * DAY).toISOString()
  const waived = (reviewDays: number, more: object = {}) =>
    seen({
      intent_record_id: record.id,
      result: 'waived',
      waiver: { waived_by: 'ann', reason: 'known', review_at: day(reviewDays) },
      ...more,
    })
  const over = [waived(-1), waived(0), waived(-1, { observed_at: day(2) }), waived(-3, { observed_at: day(-2) })]
  for (const observation of over) {
    const { body } = await post(422, seen({}), observation)
    t.match(body.errors, [{ pointer: '/observations/1/waiver/review_at', detail: /must be later than / }])
  }
  await post(200, waived(-1, { observed_at: day(-2) }))
  const ahead = waived(1, { observed_at: day(3) })
  await post(200, ahead)
  await reached(intent, 2)
  platform.advance(2 * DAY)
  const again = await post(200, ahead)
  t.equal(again.body.evidence.length, 2, 'accepted when its review was still ahead')
})
