/** Drift over HTTP: listed by status, classified, recorded, repaired, and unchanged by a restart. */
import { isDeepStrictEqual } from 'node:util'
import { pino } from 'pino'
import t from 'tap'
import { startService } from '../../http/service.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { events, type Intent, intentOf, wordsOf } from './intent-harness.ts'
import { startTestService, TestService } from './service-harness.ts'

const DAY = 86_400_000
const EVIDENCE = [{ description: 'the restart test passes' }, { description: 'no map in memory', required: false }]

/** One record in each drift status, by status. */
async function oneOfEach(intent: Intent): Promise<Record<string, any>> {
  const make = (slug: string) => intent.record({ slug, evidence: EVIDENCE }, 'accepted')
  const records: Record<string, any> = {}
  for (const word of ['holding', 'unobserved', 'threatened', 'drifted', 'contradicted'])
    records[word] = await make(word)
  const { holding, threatened, drifted, contradicted } = records
  await intent.observe(holding.id, { evidence_id: `${holding.id}.e1` })
  await intent.observe(threatened.id, { about: 'threat', result: 'fail', notes: 'a map in memory' })
  await intent.observe(drifted.id, { evidence_id: `${drifted.id}.e1`, result: 'fail' })
  await intent.observe(contradicted.id, { about: 'contradiction', result: 'fail' })
  return records
}

t.test(
  'accepted and active records are listed by drift status, most pressing first, in pages of any size',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const intent = await intentOf(s)
    const records = await oneOfEach(intent)
    await intent.record({ slug: 'proposed' })
    await intent.move(records.holding.id, 'activate')
    const words = ['contradicted', 'drifted', 'threatened', 'unobserved', 'holding']
    t.same(
      await intent.words(),
      words.map((word) => [word, word]),
    )
    for (const word of words) t.same(await intent.words(`?status=${word}`), [[word, word]])
    t.same(await intent.words('?status=stale'), [])
    t.same(await intent.words('?severity=high'), [['drifted', 'drifted']])
    t.same((await s.expect(200, 'GET', '/api/projects/shop/drift')).body.items, await intent.drift(), 'by either path')

    platform.advance(31 * DAY)
    const later = ['contradicted', 'drifted', 'threatened', 'stale', 'unobserved']
    t.same(
      (await intent.words()).map(([, status]) => status),
      later,
    )
    t.same(await intent.words('?status=stale'), [['holding', 'stale']])
    t.same(await intent.words('?status=holding'), [])
    await intent.observe(records.holding.id, { evidence_id: `${records.holding.id}.e1` })
    t.same(await intent.words('?status=holding'), [['holding', 'holding']])
    t.same(await intent.words('?status=stale'), [])
    const paged: any[] = []
    for (let cursor = ''; ; ) {
      const { body } = await s.expect(200, 'GET', `/projects/shop/drift?limit=1${cursor}`)
      paged.push(...body.items)
      if (body.next_cursor === undefined) break
      cursor = `&cursor=${body.next_cursor}`
    }
    t.same(
      paged.map(({ intent_record }: any) => intent_record.key),
      (await intent.drift()).map(({ intent_record }) => intent_record.key),
    )
  },
)

t.test('a record that becomes stale between two pages is still on one of them', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const intent = await intentOf(s)
  await oneOfEach(intent)
  const whole = await intent.words()
  const path = '/projects/shop/drift?limit=4'
  const first = (await s.expect(200, 'GET', path)).body
  platform.advance(31 * DAY)
  const second = (await s.expect(200, 'GET', `${path}&cursor=${first.next_cursor}`)).body
  t.same(wordsOf([...first.items, ...second.items]), whole, 'with the statuses of the first page')
  t.equal(second.next_cursor, undefined)
  const [list] = JSON.parse(Buffer.from(first.next_cursor, 'base64url').toString())
  const forged = Buffer.from(`["${list}","9999-99-99T00:00:00.000Z|holding/holding|",""]`).toString('base64url')
  t.equal((await s.expect(400, 'GET', `${path}&cursor=${forged}`)).body.code, 'invalid_cursor')
})

t.test('drift is read by the record’s id, key or slug, with the evidence behind its status', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { drifted } = await oneOfEach(intent)
  for (const named of [drifted.id, drifted.key, drifted.slug]) {
    t.match((await s.expect(200, 'GET', `/api/projects/shop/drift/${named}`)).body, {
      status: 'drifted',
      severity: 'high',
      action: 'repair',
      intent_record: { id: drifted.id, state: 'accepted', version: 1 },
      because: [
        {
          code: 'evidence_failed',
          evidence_id: `${drifted.id}.e1`,
          observation: { result: 'fail', observed_by: 'engine', engine_run_id: /^run_/ },
        },
      ],
      observations: 1,
    })
  }
  t.match((await s.expect(200, 'GET', `/api/intent-records/${drifted.id}`)).body.evidence, [
    { latest: { result: 'fail' } },
    { required: false },
  ])
  await intent.record({ slug: 'proposed' })
  t.match((await s.expect(409, 'GET', '/api/projects/shop/drift/proposed')).body, {
    code: 'illegal_move',
    state: 'proposed',
  })
  t.equal((await s.expect(404, 'GET', '/api/projects/shop/drift/nothing')).body.code, 'not_found')
})

t.test(
  'two conflicting records are contradicted until one of them is deprecated or the conflict is removed',
  async (t) => {
    const s = await startTestService(t)
    const intent = await intentOf(s)
    const [a] = [await intent.record({ slug: 'a' }, 'active'), await intent.record({ slug: 'b' })]
    const path = `/api/intent-records/${a.id}/relationships`
    // Records learn of a conflict by message.
    const come = async (words: Record<string, string>) =>
      await until(
        async () => Object.fromEntries(await intent.words()),
        (said) => isDeepStrictEqual(said, words),
      )
    await s.expect(200, 'POST', path, { type: 'conflicts_with', to: 'b' })
    t.same(await intent.words(), [['a', 'unobserved']], 'the other record does not guide runs yet')
    await intent.move('shop.intent.b', 'accept')
    await come({ a: 'contradicted', b: 'contradicted' })
    await intent.move('shop.intent.b', 'deprecate')
    await come({ a: 'unobserved' })
    await intent.record({ slug: 'c' }, 'accepted')
    await s.expect(200, 'POST', '/api/intent-records/shop.intent.c/relationships', { type: 'conflicts_with', to: 'a' })
    await come({ a: 'contradicted', c: 'contradicted' })
    await s.expect(
      200,
      'DELETE',
      `/api/intent-records/shop.intent.c/relationships/${(await s.expect(200, 'GET', '/api/intent-records/shop.intent.c')).body.relationships[0].id}`,
    )
    await come({ a: 'unobserved', c: 'unobserved' })
  },
)

t.test(
  'a classification decides the action of a drift and removes it from attention until its review is due',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const intent = await intentOf(s)
    const { drifted, threatened, holding } = await oneOfEach(intent)
    const classify = (status: number, named: string, body: object, options?: object) =>
      s.expect(status, 'POST', `/api/projects/shop/drift/${named}/classify`, body, options)
    const calling = async () =>
      (await s.expect(200, 'GET', '/api/attention?reason=drift')).body.items
        .map(({ kind, drift }: any) => `${kind} ${drift.intent_record.key.slice(12)}`)
        .sort()
    t.same(await calling(), ['drift contradicted', 'drift drifted', 'drift threatened'])
    t.equal((await classify(200, 'drifted', { classification: 'real', reason: 'I looked' })).body.action, 'repair')
    t.equal((await classify(200, 'contradicted', { classification: 'obsolete_intent' })).body.action, 'update_record')
    const inAWeek = new Date(platform.wallMs() + 7 * DAY).toISOString()
    const excused = await classify(200, 'threatened', {
      classification: 'allowed_exception',
      reason: 'until the rewrite',
      review_at: inAWeek,
    })
    t.match(excused.body, {
      status: 'threatened',
      action: 'none',
      classification: { classification: 'allowed_exception', review_at: inAWeek, by: { name: 'admin' } },
    })
    t.same(await calling(), [])
    platform.advance(8 * DAY)
    t.same(await calling(), ['drift threatened'], 'its review is due')
    t.equal((await s.expect(200, 'GET', '/api/projects/shop/drift/threatened')).body.action, 'ask')
    await classify(200, 'threatened', { classification: 'none' })

    const wrong: [object, string][] = [
      [{ classification: 'allowed_exception' }, '/reason'],
      [{ classification: 'allowed_exception', reason: 'x', review_at: '2020-01-01T00:00:00Z' }, '/review_at'],
      [{ classification: 'real', review_at: '2099-01-01T00:00:00Z' }, '/review_at'],
      [{ classification: 'fine' }, '/classification'],
      [{}, '/classification'],
    ]
    for (const [body, pointer] of wrong) {
      const refused = await classify(422, 'drifted', body)
      t.ok(
        refused.body.errors.some((error: any) => error.pointer === pointer),
        JSON.stringify(refused.body.errors),
      )
    }
    const nothing = await classify(409, 'holding', {
      classification: 'allowed_exception',
      reason: 'x',
      review_at: '9999-12-31T23:59:59-05:00',
    })
    t.match(nothing.body, { code: 'illegal_move', detail: /holding/ })
    await classify(200, 'unobserved', { classification: 'real', reason: 'I think so' })
    const unseen = await classify(409, 'unobserved', {
      classification: 'allowed_exception',
      reason: 'x',
      review_at: '2099-01-01T00:00:00Z',
    })
    t.match(unseen.body, { code: 'illegal_move', detail: /only a person has said/ }, 'it would end at once')
    await classify(200, 'unobserved', { classification: 'none' })
    t.equal((await classify(409, 'holding', { classification: 'none' })).body.code, 'illegal_move')
    const author = { token: await s.token('author', { roles: ['author'] }) }
    t.equal((await classify(403, 'drifted', { classification: 'real' }, author)).body.code, 'forbidden')
    const approver = { token: await s.token('approver', { roles: ['approver'] }) }
    await classify(200, 'drifted', { classification: 'real', reason: 'I looked, too' }, approver)

    await intent.observe(drifted.id, { evidence_id: `${drifted.id}.e1` })
    t.same(await intent.words('?status=drifted'), [])
    const history = (await s.expect(200, 'GET', '/api/projects/shop/drift/drifted/history')).body.items
    t.same(
      history.map(({ kind, status, previous_status, classification }: any) => [
        kind,
        status,
        previous_status ?? classification,
      ]),
      [
        ['status', 'holding', 'drifted'],
        ['classification_ended', 'drifted', 'real'],
        ['classified', 'drifted', 'real'],
        ['classified', 'drifted', 'real'],
        ['status', 'drifted', 'unobserved'],
        ['status', 'unobserved', undefined],
      ],
    )
    t.equal(history[2].by.name, 'approver')
    await intent.move(holding.id, 'deprecate')
    await s.expect(200, 'GET', '/api/projects/shop/drift/holding/history')
    const told = (await events(s, 'drift_classified')).map(({ payload }: any) => payload)
    t.match(told, [
      { intent_record_id: drifted.id, classification: 'real', drift_status: 'drifted', reason: 'I looked' },
      { classification: 'obsolete_intent', drift_status: 'contradicted' },
      {
        intent_record_id: threatened.id,
        classification: 'allowed_exception',
        reason: 'until the rewrite',
        review_at: inAWeek,
      },
      { classification: 'none' },
      { classification: 'real', reason: 'I think so' },
      { classification: 'none' },
      { classification: 'real', reason: 'I looked, too' },
    ])
  },
)

t.test('every change of drift status is recorded with the observation behind it', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const intent = await intentOf(s)
  const { id } = await intent.record({ slug: 'one', evidence: EVIDENCE }, 'accepted')
  const seen = (n: number) => `obs_${String(n).padStart(24, '0')}`
  await intent.observe(id, { evidence_id: `${id}.e1` })
  await intent.observe(id, { evidence_id: `${id}.e1` })
  platform.advance(40 * DAY)
  await intent.observe(id, { evidence_id: `${id}.e1`, result: 'fail' })
  const told = (await events(s, 'intent_record_drift_changed')).map(({ payload }: any) => payload)
  const change = (
    drift_status: string,
    previous: string | undefined,
    cause: string,
    severity?: string,
    observation?: number,
  ) => ({
    intent_record_id: id,
    key: 'shop.intent.one',
    state: 'accepted',
    version: 1,
    drift_status,
    ...(previous === undefined ? {} : { previous_drift_status: previous }),
    ...(severity === undefined ? {} : { severity }),
    cause,
    ...(observation === undefined ? {} : { observation_id: seen(observation) }),
  })
  t.same(
    told.map(({ since: _, ...payload }: any) => payload),
    [
      change('unobserved', undefined, 'state', 'low'),
      change('holding', 'unobserved', 'observation', undefined, 1),
      // Recorded when the record is next read, with the severity of a record without observations.
      change('stale', 'holding', 'time', 'low'),
      change('drifted', 'stale', 'observation', 'high', 3),
    ],
  )
})

t.test(
  'one repair brief is drafted per drift from its record, and quotes observations as untrusted data',
  async (t) => {
    const s = await startTestService(t)
    const intent = await intentOf(s)
    const { threatened } = await oneOfEach(intent)
    const path = (slug: string) => `/api/projects/shop/drift/${slug}/repair-brief`
    const drafted = await s.expect(201, 'POST', path('threatened'))
    t.match(drafted.body, {
      state: 'draft',
      throttle: 'dry_run',
      title: 'Repair: Sessions survive',
      mission: { objective: /shop\.intent\.threatened/, definition_of_done: ['It passes: the restart test passes'] },
      protected_capabilities: [{ id: threatened.id }],
      evidence_plan: { required: ['the restart test passes'], suggested: ['no map in memory'] },
      relevant_intent: { drift: { because: [{ untrusted: true, observation: { notes: 'a map in memory' } }] } },
    })
    t.notMatch(JSON.stringify([drafted.body.mission, drafted.body.threats_to_watch]), /a map in memory/)
    const again = await s.expect(200, 'POST', path('threatened'))
    t.equal(again.body.id, drafted.body.id)
    const read = await s.expect(200, 'GET', `/api/formation-briefs/${drafted.body.id}`)
    for (const answer of [drafted, again])
      t.equal(answer.headers.get('etag'), read.headers.get('etag'), 'the answer has the ETag for its next change')
    const { body } = await s.expect(200, 'GET', '/api/projects/shop/drift/threatened')
    t.equal(body.repair_brief_id, drafted.body.id)
    t.match((await s.expect(200, 'GET', '/api/projects/shop/drift/threatened/history')).body.items[0], {
      kind: 'repair_drafted',
      formation_brief_id: drafted.body.id,
    })
    await s.expect(200, 'POST', `/api/formation-briefs/${drafted.body.id}/archive`)
    const anew = await s.expect(201, 'POST', path('threatened'))
    t.equal(anew.body.state, 'draft', 'an archived repair brief is replaced')
    t.not(anew.body.id, drafted.body.id)
    t.equal((await s.expect(200, 'POST', path('threatened'))).body.id, anew.body.id)
    t.match((await s.expect(409, 'POST', path('holding'))).body, { code: 'illegal_move', state: 'holding' })
    const race = await Promise.all([1, 2, 3].map(() => s.call('POST', path('drifted'))))
    t.equal(new Set(race.map(({ body }) => body.id)).size, 1)
    const approver = { token: await s.token('approver', { roles: ['approver'] }) }
    t.equal((await s.expect(403, 'POST', path('drifted'), undefined, approver)).body.code, 'forbidden')
  },
)

/** Ids of the project's briefs. */
async function briefsOf(s: TestService): Promise<string[]> {
  const { body } = await s.expect(200, 'GET', '/api/projects/shop/formation-briefs')
  return body.items.map(({ id }: any) => id)
}

t.test('concurrent repair requests for one drift draft one brief, whatever their token, name or key', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { drifted } = await oneOfEach(intent)
  const people = await Promise.all(['ann', 'bob'].map((name) => s.token(name, { roles: ['author'] })))
  const asked = people.flatMap((token) =>
    ['drifted', drifted.id].flatMap((name) =>
      [undefined, 'k1'].map((key) => {
        const headers = key === undefined ? {} : { 'idempotency-key': key }
        return s.call('POST', `/api/projects/shop/drift/${name}/repair-brief`, undefined, { token, headers })
      }),
    ),
  )
  const answers = await Promise.all(asked)
  t.same(answers.map(({ status }) => status).sort(), [...Array(7).fill(200), 201])
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  t.same(await briefsOf(s), [answers[0]!.body.id])
  await s.expect(200, 'POST', `/api/formation-briefs/${answers[0]!.body.id}/archive`)
  const anew = await s.expect(201, 'POST', '/api/projects/shop/drift/drifted/repair-brief')
  t.not(anew.body.id, answers[0]!.body.id, 'an archived brief can be replaced')
})

t.test('a record learns of its repair brief even if the client that asked for it disconnects', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  await oneOfEach(intent)
  const { runtime } = s.service
  const ask = runtime.ask.bind(runtime)
  const gone = new AbortController()
  runtime.ask = (ref, message, reply) => {
    const isDraft = ref.kind === 'formation_brief' && message.type === 'create' && !gone.signal.aborted
    ask(ref, message, (answer) => {
      if (!isDraft) return reply(answer)
      gone.abort()
      setTimeout(() => reply(answer), 100)
    })
  }
  const path = '/api/projects/shop/drift/drifted/repair-brief'
  const headers = { authorization: `Bearer ${s.admin}` }
  await t.rejects(fetch(`${s.service.url}${path}`, { method: 'POST', headers, signal: gone.signal }))
  const other = { token: await s.token('ann', { roles: ['author'] }) }
  const { body } = await s.expect(200, 'POST', path, undefined, other)
  t.same(await briefsOf(s), [body.id])
})

t.test('on LMDB: records and drift are unchanged after a restart', async (t) => {
  const settings = { ...defaultSettings, home: t.testdir(), port: 0, diskReserveBytes: 0 }
  const options = { version: '0', log: pino({ level: 'silent' }) }
  const first = new TestService(await startService(settings, options), settings)
  await first.loadDocuments()
  const intent = await intentOf(first)
  const records = await oneOfEach(intent)
  await first.expect(200, 'POST', '/api/projects/shop/drift/drifted/classify', { classification: 'real' })
  const before = await intent.drift()
  await first.service.close()
  const second = new TestService(await startService(settings, options), settings)
  t.teardown(() => second.service.close())
  await second.loadDocuments()
  t.same((await second.expect(200, 'GET', '/projects/shop/drift')).body.items, before)
  for (const { id } of Object.values(records)) await second.expect(200, 'GET', `/api/intent-records/${id}`)
})
