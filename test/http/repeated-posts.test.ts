/** A POST whose answer was lost can be sent again: it takes an Idempotency-Key, or its repeat changes nothing. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { until } from '../until.ts'
import { acceptedRecord, briefIn, sectionsFor } from './briefs.ts'
import { addCampaign, form } from './campaign-harness.ts'
import { add, NAME } from './initiative-harness.ts'
import { DISCOVERY } from './intent-harness.ts'
import { AT, begin, fleet, submit, take } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'

/** How long nothing is recorded when all that followed is over, milliseconds. */
const QUIET_MS = 50

const REASON = { reason: 'It is agreed' }
const SEEN = { result: 'pass', observed_by: 'engine', source_type: 'test_run', observed_at: AT }
const COMPOSED = { event_type: 'greeting_composed', occurred_at: AT, payload: { greeting: 'hello' } }

t.test('every POST takes an idempotency key, or sent again it is refused or changes nothing', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'bank')
  const openapi = (await s.expect(200, 'GET', '/openapi.json')).body
  const open = new Set<string>()
  for (const [path, { post }] of Object.entries<any>(openapi.paths)) {
    const names = (post?.parameters ?? []).map(({ $ref, name = $ref }: any) => String(name))
    if (post !== undefined && !names.some((name: string) => /idempotency/i.test(name))) open.add(path)
  }
  t.ok(open.size > 20 && !open.has('/api/runners/{runner_id}/token'))

  const known = [...open].map((path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)] as const)
  const twice = async (path: string, body: object | undefined = {}, options: object = {}): Promise<any> => {
    const first = await s.call('POST', path, body, options)
    t.ok(first.status < 300, `${path}: ${JSON.stringify(first.body)}`)
    const { journal } = s.service.runtime
    // What followed from the first is over.
    const [before] = await until(
      async () => {
        const seen = journal.lastSequence
        await pause(QUIET_MS)
        return [seen, journal.lastSequence]
      },
      ([seen, now]) => seen === now,
    )
    const again = await s.call('POST', path, body, options)
    t.ok(again.status < 300 || again.status === 409, `${path} again: ${JSON.stringify(again.body)}`)
    if (path.startsWith('/api/pacing/')) t.same(again.body, first.body, 'it is stated again, and changes nothing')
    else t.equal(journal.lastSequence, before, `${path} changes nothing the second time`)
    for (const [name, pattern] of known) if (pattern.test(path)) open.delete(name)
    return first.body
  }

  const record = async (title: string) =>
    (await s.expect(201, 'POST', '/projects/shop/intent-records', { title, capability: 'x' })).body.id
  const [one, other] = [await record('One'), await record('Other')]
  await twice(`/api/intent-records/${one}/accept`, REASON)
  await twice(`/api/intent-records/${one}/relationships`, { type: 'supports', to: other })
  await twice(`/api/intent-records/${one}/activate`, REASON)
  await twice('/api/projects/shop/drift/one/classify', { classification: 'real', reason: 'It is' })
  await twice(`/api/intent-records/${one}/supersede`, { replacement: other, ...REASON })
  await s.expect(200, 'POST', `/api/intent-records/${other}/accept`, REASON)
  await twice(`/api/intent-records/${other}/deprecate`, REASON)
  await twice(`/api/intent-records/${await record('Third')}/contradict`, REASON)

  const { hypotheses } = (await s.expect(201, 'POST', '/projects/shop/discoveries', DISCOVERY)).body
  const [accepted, rejected] = hypotheses.map(({ hypothesis_id }: any) => hypothesis_id)
  await twice(`/hypotheses/${accepted}/accept`, REASON)
  await twice(`/api/hypotheses/${accepted}/accept`, REASON)
  await twice(`/api/hypotheses/${rejected}/reject`, REASON)

  const project = (await s.expect(200, 'GET', '/api/projects/shop')).body
  const brief = await briefIn(s, 'draft', 'shop', sectionsFor(await acceptedRecord(s, project, 'pays')))
  await twice(`${brief.path}/submit`)
  await twice(`${brief.path}/approve`, { throttle: 'dry_run' })
  await twice(`/formation-briefs/${brief.id}/compile-prompts`)
  await twice(`${brief.path}/compile-prompts`)
  await twice(`${brief.path}/archive`, REASON)

  const request = async () => (await s.request('shop')).id
  await twice(`/api/run-requests/${(await s.request('shop', { throttle: 'full' })).id}/approve`)
  await twice('/api/run-requests/cancel', { project: 'shop', ...REASON })
  await twice(`/api/run-requests/${await request()}/cancel`, REASON)
  await request()
  const first = await take(s, runner)
  await twice(`/api/run-requests/${first.request_id}/release`, {}, runner)
  const { request_id: id, attempt } = await take(s, runner)
  await twice(`/api/run-requests/${id}/accepted`, { attempt }, runner)
  const { run_request } = await twice(`/api/run-requests/${id}/started`, { attempt }, runner)
  await twice(`/api/run-requests/${id}/heartbeat`, { attempt }, runner)
  await twice(`/api/run-requests/${id}/events`, { attempt, events: [COMPOSED] }, runner)
  const run = `/api/engine-runs/${run_request.engine_run_id}`
  await twice(`${run}/trace-summary`, { blocks_executed: ['compose'] }, runner)
  await twice(`${run}/evidence-observations`, { observations: [SEEN] }, runner)
  const { trace_id } = run_request
  await twice(
    `/engine/traces/${trace_id}/ingest`,
    [
      {
        ...COMPOSED,
        occurred_at: '2026-01-31T12:00:01Z',
        project: 'shop',
        throttle: 'dry_run',
        trace_id,
        id: `evt_${'1'.repeat(64)}`,
      },
    ],
    runner,
  )
  await twice(`/api/run-requests/${id}/completed`, { attempt, result: { status: 'completed' } }, runner)
  await request()
  const failing = (await begin(s, runner)).request_id
  await twice(`/api/run-requests/${failing}/failed`, { class: 'execution', message: 'x' }, runner)
  for (const move of ['requeue', 'fail']) {
    await request()
    const lost = (await begin(s, runner)).request_id
    await s.expect(200, 'POST', '/api/runners/r1/session', { instance: `before ${move}`, version: '1' }, runner)
    await twice(`/api/run-requests/${lost}/${move}`, move === 'fail' ? { message: 'x' } : {})
    if (move === 'requeue') await s.expect(200, 'POST', `/api/run-requests/${lost}/cancel`)
  }
  await twice('/api/runners/r1/session', { instance: 'new', version: '1' }, runner)

  await twice('/api/pacing/pause', { lanes: ['campaign', 'interactive'] })
  const item = (await submit(s)).id
  await twice(`/api/work-items/${item}/hold`)
  await twice(`/api/work-items/${item}/release`)
  await twice(`/api/work-items/${item}/cancel`, REASON)
  await twice('/api/pacing/resume', { lanes: ['interactive'] })
  await twice('/api/pacing/limit', { label: 'gpu', max_running: 2 })
  await twice('/api/pacing/unlimit', { label: 'gpu' })
  await twice('/api/pacing/weigh', { project: 'shop', weight: 3 })
  const failed = (await submit(s, { objective: 'Sweep' })).id
  const sweep = (await begin(s, runner)).request_id
  await s.expect(200, 'POST', `/api/run-requests/${sweep}/failed`, { class: 'execution', message: 'x' }, runner)
  await twice(`/api/work-items/${failed}/close`, REASON)

  await addCampaign(s)
  await twice('/api/campaigns/pay/advance')
  await twice('/api/campaigns/pay/pause', REASON)
  await twice('/api/campaigns/pay/resume', { add_cycles: 2 })
  await twice('/api/campaigns/pay/complete', REASON)
  await addCampaign(s, { name: 'three' })
  await twice('/api/pacing/resume', { lanes: ['campaign'] })
  await s.expect(200, 'POST', '/api/campaigns/three/advance')
  await form(s, runner, { decision: 'escalate', reason: 'the price' })
  const three = async () => (await s.expect(200, 'GET', '/api/campaigns/three')).body
  await until(three, ({ status }) => status === 'escalated')
  await twice('/api/campaigns/three/decide', { decision: 'net' })
  await addCampaign(s, { name: 'two' })
  await twice('/api/campaigns/two/cancel', REASON)

  const recurring = { objective: 'Tidy up' }
  await s.expect(201, 'POST', '/api/sentinels', {
    name: 'nightly',
    project: 'shop',
    cron: '0 0 * * *',
    item: recurring,
  })
  for (const move of ['pause', 'resume', 'remove']) await twice(`/api/sentinels/nightly/${move}`)

  await add(s)
  await twice(`/api/initiatives/${NAME}/complete`, REASON)
  await add(s, { name: 'second' })
  await twice('/api/initiatives/second/cancel', REASON)
  await twice('/api/events', { events: [{ ...COMPOSED, project: 'shop' }] })
  t.same([...open], [], 'all were sent twice')
})
