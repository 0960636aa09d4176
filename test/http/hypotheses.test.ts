/** Discoveries and hypotheses over HTTP: recorded as data, decided once, and never executed. */
import t from 'tap'
import { until } from '../until.ts'
import { DISCOVERY, events, intentOf } from './intent-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const PATH = '/projects/shop/discoveries'

async function discovered(s: TestService): Promise<{ id: string; sessions: string; docs: string }> {
  const { body } = await s.expect(201, 'POST', PATH, DISCOVERY)
  const [sessions, docs] = body.hypotheses.map(({ hypothesis_id }: any) => hypothesis_id)
  return { id: body.id, sessions, docs }
}

t.test('an inspection is recorded once with its hypotheses, and everything in it is marked untrusted', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  const made = await s.expect(201, 'POST', PATH, DISCOVERY)
  t.match(made.body, { untrusted: true, repository: { revision: 'abc123' }, observations: DISCOVERY.observations })
  t.equal(made.headers.get('location'), `/api/discoveries/${made.body.id}`)
  const again = await s.expect(200, 'POST', `/api${PATH}`, DISCOVERY)
  t.equal(again.body.id, made.body.id)
  t.equal(again.headers.get('idempotent-replay'), 'true')
  t.same((await s.expect(200, 'GET', `/api/discoveries/${made.body.id}`)).body, made.body)
  const [summary] = (await s.expect(200, 'GET', PATH)).body.items
  t.match(summary, { id: made.body.id, untrusted: true, observation_count: 2 })
  t.notOk('observations' in summary)
  for (const { hypothesis_id } of made.body.hypotheses) {
    const { body } = await s.expect(200, 'GET', `/api/hypotheses/${hypothesis_id}`)
    t.match(body, { state: 'open', untrusted: true, discovery_id: made.body.id, sightings: 1, revision: 'abc123' })
  }
  t.match((await s.expect(200, 'GET', '/projects/shop/hypotheses')).body.items, [
    { title: 'Docs come first' },
    { key: 'sessions' },
  ])
  t.same((await s.expect(200, 'GET', '/projects/shop/intent-records')).body.items, [], 'it creates no record')
  t.equal((await s.expect(404, 'GET', '/api/discoveries/disc_x')).body.code, 'not_found')
  t.equal((await s.expect(404, 'GET', '/api/hypotheses/hyp_x')).body.code, 'not_found')
})

t.test(
  'a discovery is refused under a used key with another body, and with a pointer if it is inconsistent',
  async (t) => {
    const s = await startTestService(t)
    await intentOf(s)
    const headers = { 'idempotency-key': 'k' }
    const made = await s.expect(201, 'POST', PATH, DISCOVERY, { headers })
    t.equal((await s.expect(200, 'POST', PATH, DISCOVERY, { headers })).body.id, made.body.id)
    const other = { ...DISCOVERY, repository: { revision: 'def456' } }
    t.equal((await s.expect(422, 'POST', PATH, other, { headers })).body.code, 'idempotency_key_reused')
    const [first] = DISCOVERY.hypotheses
    const pointers = async (body: object) =>
      (await s.expect(422, 'POST', PATH, body)).body.errors.map(({ pointer }: any) => pointer)
    t.same(await pointers({ observations: [] }), ['/observations'])
    t.same(
      await pointers({
        observations: [
          { ref: 'a', summary: 'x' },
          { ref: 'a', summary: 'y' },
        ],
      }),
      ['/observations/1/ref'],
    )
    t.same(await pointers({ ...DISCOVERY, hypotheses: [{ ...first, based_on: ['o1', 'o9'] }] }), [
      '/hypotheses/0/based_on/1',
    ])
    t.same(await pointers({ ...DISCOVERY, hypotheses: [{ ...first, based_on: [] }] }), ['/hypotheses/0/based_on'])
    t.same(await pointers({ ...DISCOVERY, hypotheses: [first, first] }), ['/hypotheses/1/key'])
    t.same(await pointers({ ...DISCOVERY, hypotheses: [{ ...first, confidence: 2 }] }), ['/hypotheses/0/confidence'])
  },
)

t.test(
  'a hypothesis drawn again by another inspection counts one more sighting, even if it was rejected',
  async (t) => {
    const s = await startTestService(t)
    await intentOf(s)
    const { sessions, docs } = await discovered(s)
    await s.expect(200, 'POST', `/api/hypotheses/${docs}/reject`, { reason: 'an accident' })
    const [first, second] = DISCOVERY.hypotheses
    const later = {
      ...DISCOVERY,
      repository: { revision: 'def456' },
      hypotheses: [{ ...first, confidence: 0.9, observed: ['and again'] }, second],
    }
    const { body } = await s.expect(201, 'POST', PATH, later)
    t.match(body.hypotheses, [{ hypothesis_id: sessions, observed: ['and again'] }, { hypothesis_id: docs }])
    const seen = (id: string) =>
      until(
        async () => (await s.expect(200, 'GET', `/api/hypotheses/${id}`)).body,
        ({ sightings }) => sightings === 2,
      )
    t.match(await seen(sessions), {
      state: 'open',
      confidence: 0.7,
      observed: ['a Redis client in src/auth'],
      sightings: 2,
      last_seen: { discovery_id: body.id, confidence: 0.9 },
    })
    t.match(await seen(docs), { state: 'rejected', sightings: 2 })
    await s.expect(200, 'POST', PATH, later)
    t.equal(
      (await s.expect(200, 'GET', `/api/hypotheses/${sessions}`)).body.sightings,
      2,
      'a repeated inspection is no sighting',
    )
  },
)

t.test('accepting a hypothesis creates an accepted record whose source names the discovery', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  const { id, sessions } = await discovered(s)
  const { body } = await s.expect(200, 'POST', `/hypotheses/${sessions}/accept`)
  t.match(body.hypothesis, {
    state: 'accepted',
    intent_record_id: body.intent_record.id,
    decided_by: { name: 'admin' },
  })
  t.match(body.intent_record, {
    state: 'accepted',
    title: 'People stay signed in while we deploy.',
    slug: 'people-stay-signed-in-while-we-deploy',
    capability: 'People stay signed in while we deploy.',
    confidence: 0.7,
    hypothesis_id: sessions,
    sources: [
      {
        source_type: 'code_observation',
        source_ref: `${id}@abc123`,
        summary: 'src/auth/store.ts',
        excerpt: 'a Redis client in src/auth',
        untrusted: true,
      },
    ],
  })
  t.same((await s.expect(200, 'POST', `/api/hypotheses/${sessions}/accept`, {})).body, body, 'repeated: unchanged')
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  t.same(
    (await s.expect(200, 'POST', `/api/hypotheses/${sessions}/accept`, {})).body,
    body,
    'also in an archived project',
  )
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: false })
  const other = await s.expect(409, 'POST', `/hypotheses/${sessions}/accept`, { record: { title: 'Other' } })
  t.match(other.body, {
    code: 'illegal_move',
    state: 'accepted',
    detail: new RegExp(`^It was already accepted differently by admin, as ${body.intent_record.id}`),
  })
  t.equal(
    (await s.expect(409, 'POST', `/api/hypotheses/${sessions}/reject`, { reason: 'late' })).body.state,
    'accepted',
  )
  t.match((await s.expect(200, 'GET', '/projects/shop/hypotheses?state=open')).body.items, { length: 1 })
  t.match((await s.expect(200, 'GET', '/projects/shop/hypotheses?state=open,accepted')).body.items, { length: 2 })
  t.match((await s.expect(200, 'GET', '/api/projects/shop/intent-check')).body, { errors: 0 })
})

t.test('accepting an edited hypothesis uses the reviewer’s values and lists which were edited', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  const { docs } = await discovered(s)
  const record = {
    title: 'Docs are part of a change',
    slug: 'docs',
    confidence: 1,
    evidence: [{ description: 'the docs gate passes', gate_name: 'docs' }],
  }
  const { body } = await s.expect(200, 'POST', `/hypotheses/${docs}/accept`, { record, reason: 'so we want it' })
  t.match(body.hypothesis, { edited: ['title', 'slug', 'confidence', 'evidence'], reason: 'so we want it' })
  t.match(body.intent_record, {
    title: record.title,
    slug: 'docs',
    confidence: 1,
    evidence: [{ id: `${body.intent_record.id}.e1` }],
  })
  const wrong = await s.expect(422, 'POST', `/hypotheses/${docs}/accept`, { record: { mood: 'good' } })
  t.equal(wrong.body.errors[0].pointer, '/record/mood')
})

t.test('a slug that is taken is refused if the reviewer chose it, and numbered if it was derived', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { sessions, docs } = await discovered(s)
  await intent.record({ slug: 'docs' })
  await intent.record({ slug: 'people-stay-signed-in-while-we-deploy' })
  const refused = await s.expect(409, 'POST', `/hypotheses/${docs}/accept`, { record: { slug: 'docs' } })
  t.equal(refused.body.code, 'already_exists')
  t.equal((await s.expect(200, 'GET', `/api/hypotheses/${docs}`)).body.state, 'open', 'nothing was decided')
  const asked = { record: { slug: 'docs-follow-code' } }
  const decided = await s.expect(200, 'POST', `/hypotheses/${docs}/accept`, asked)
  const again = await s.expect(200, 'POST', `/hypotheses/${docs}/accept`, asked)
  t.same(again.body, decided.body, 'the slug belongs to its own record')
  const { body } = await s.expect(200, 'POST', `/hypotheses/${sessions}/accept`)
  t.equal(body.intent_record.slug, 'people-stay-signed-in-while-we-deploy-2')
})

t.test('of concurrent decisions on a hypothesis one counts, and a slug goes to one record', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  for (let round = 0; round < 10; round++) {
    const hypothesis = {
      key: `h${round}`,
      confidence: 0.5,
      based_on: ['o1'],
      title: `Title ${round}`,
      possible_intent: {},
    }
    const posted = await s.expect(201, 'POST', PATH, { ...DISCOVERY, hypotheses: [hypothesis] })
    const id = posted.body.hypotheses[0].hypothesis_id
    const replies = await Promise.all([
      s.call('POST', `/hypotheses/${id}/accept`, {}),
      s.call('POST', `/hypotheses/${id}/accept`, { record: { title: `Edited ${round}` } }),
      s.call('POST', `/api/hypotheses/${id}/reject`, { reason: 'no' }),
      s.call('POST', '/projects/shop/intent-records', { title: 'Mine', slug: `title-${round}` }),
    ])
    const decisions = replies.slice(0, 3).map(({ status }) => status)
    t.same([...decisions].sort(), [200, 409, 409], JSON.stringify(decisions))
    const { state, intent_record_id } = (await s.expect(200, 'GET', `/api/hypotheses/${id}`)).body
    t.equal(state, decisions[2] === 200 ? 'rejected' : 'accepted')
    const records = (await s.expect(200, 'GET', '/projects/shop/intent-records?limit=500')).body.items
    const made = records.filter(({ hypothesis_id }: any) => hypothesis_id === id)
    t.same(
      made.map((record: any) => record.id),
      state === 'accepted' ? [intent_record_id] : [],
    )
  }
  t.match((await s.expect(200, 'GET', '/api/projects/shop/intent-check')).body, { errors: 0 })
})

t.test('a runner may post discoveries for its projects, and may neither read nor decide hypotheses', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  await s.project('other')
  const token = await s.runner('r1', { allowed_projects: ['shop'] })
  const { body } = await s.expect(201, 'POST', PATH, DISCOVERY, { token })
  t.same(body.created_by, { id: 'r1', name: 'runner:r1' })
  t.equal((await s.expect(404, 'POST', '/projects/other/discoveries', DISCOVERY, { token })).body.code, 'not_found')
  const id = body.hypotheses[0].hypothesis_id
  for (const [method, path] of [
    ['POST', `/hypotheses/${id}/accept`],
    ['POST', `/api/hypotheses/${id}/reject`],
    ['GET', `/api/hypotheses/${id}`],
    ['GET', PATH],
    ['POST', '/projects/shop/intent-records'],
  ] as const)
    t.equal(
      (await s.expect(403, method, path, method === 'POST' ? {} : undefined, { token })).body.code,
      'forbidden',
      path,
    )
  await s.expect(200, 'PATCH', '/api/runners/r1', { allowed_projects: ['other'] })
  await s.expect(404, 'POST', PATH, { ...DISCOVERY, source: { tool: 'late' } }, { token })
  await s.expect(201, 'POST', '/projects/other/discoveries', DISCOVERY, { token })
})

t.test('each decision is recorded as an event without text from the repository', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  const { id, sessions, docs } = await discovered(s)
  await s.expect(200, 'POST', `/hypotheses/${sessions}/accept`, { reason: 'yes' })
  await s.expect(200, 'POST', `/api/hypotheses/${docs}/reject`, { reason: 'no' })
  const record = (await s.expect(200, 'GET', `/api/hypotheses/${sessions}`)).body.intent_record_id
  const docsKey = (await s.expect(200, 'GET', `/api/hypotheses/${docs}`)).body.key
  const payloads = async (prefix: string) =>
    (await events(s, prefix)).map(({ event_type, payload }: any) => [event_type, payload])
  t.same(await payloads('discovery_'), [
    ['discovery_recorded', { discovery_id: id, hypothesis_ids: [sessions, docs], observations: 2, revision: 'abc123' }],
  ])
  const about = (hypothesis_id: string, key: string, state: string) => ({ hypothesis_id, key, state, discovery_id: id })
  t.same(await payloads('hypothesis_'), [
    ['hypothesis_opened', about(sessions, 'sessions', 'open')],
    ['hypothesis_opened', about(docs, docsKey, 'open')],
    ['hypothesis_accepted', { ...about(sessions, 'sessions', 'accepted'), intent_record_id: record, reason: 'yes' }],
    ['hypothesis_rejected', { ...about(docs, docsKey, 'rejected'), reason: 'no' }],
  ])
  t.notMatch(JSON.stringify((await s.expect(200, 'GET', '/api/events?limit=500')).body), /Ignore all previous/)
})

t.test('open hypotheses need attention until they are decided', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  const { sessions, docs } = await discovered(s)
  const waiting = async () =>
    (await s.expect(200, 'GET', '/api/attention?reason=hypothesis')).body.items.map(({ kind, hypothesis }: any) => [
      kind,
      hypothesis.id,
    ])
  t.same(await waiting(), [
    ['hypothesis', docs],
    ['hypothesis', sessions],
  ])
  await s.expect(200, 'POST', `/hypotheses/${docs}/accept`)
  await s.expect(200, 'POST', `/api/hypotheses/${sessions}/reject`, { reason: 'no' })
  t.same(await waiting(), [])
})
