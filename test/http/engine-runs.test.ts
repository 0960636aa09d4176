/** Engine runs: whose word is taken about them. */
import t from 'tap'
import { startTestService } from './service-harness.ts'

t.test('an engine run is told of by its own runner, not by the one of an earlier attempt', async (t) => {
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
