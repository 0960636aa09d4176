/** Intent records over HTTP: created, listed, changed, moved, and what is recorded about them. */
import t from 'tap'
import { KeyedMutex } from '../../http/keyed-mutex.ts'
import type { Exchange } from '../../http/wire/exchange.ts'
import { HoldablePlatform } from '../platforms/holdable.ts'
import { until } from '../until.ts'
import { DISCOVERY, events, Intent, intentOf } from './intent-harness.ts'
import { startTestService } from './service-harness.ts'

const LIST = '/projects/shop/intent-records'
/** Rounds of each race. */
const RACES = 6

t.test('a record is created once per slug, on either path, and read by its id or key', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  const headers = { 'idempotency-key': 'k' }
  const body = { title: 'Sessions survive a restart', evidence: [{ description: 'the restart test passes' }] }
  const made = await s.expect(201, 'POST', LIST, body, { headers })
  t.match(made.body, { state: 'proposed', version: 1, slug: 'sessions-survive-a-restart', confidence: 1 })
  t.equal(made.body.evidence[0].id, `${made.body.id}.e1`)
  t.equal(made.headers.get('etag'), '"1"')
  const again = await s.expect(200, 'POST', LIST, body, { headers })
  t.equal(again.headers.get('idempotent-replay'), 'true')
  t.equal(again.body.id, made.body.id)
  const other = await s.expect(422, 'POST', LIST, { ...body, threat: 'x' }, { headers })
  t.equal(other.body.code, 'idempotency_key_reused')
  const taken = await s.expect(409, 'POST', `/api${LIST}`, body)
  t.match(taken.body, { code: 'already_exists', detail: /shop\.intent\.sessions-survive-a-restart/ })
  for (const id of [made.body.id, made.body.key]) {
    const read = await s.expect(200, 'GET', `/api/intent-records/${id}`)
    t.same(read.body, made.body)
    t.equal(read.headers.get('etag'), '"1"')
  }
  const unnamed = await s.expect(422, 'POST', LIST, { title: '日本' })
  t.equal(unnamed.body.errors[0].pointer, '/slug')
  for (const title of ['a\n## b', 'a\u2028b', 'a\u0085b', 'a\u001b[2J'])
    t.equal((await s.expect(422, 'POST', LIST, { title, slug: 'x' })).body.errors[0].pointer, '/title', 'one line')
  t.equal((await s.expect(201, 'POST', LIST, { title: '日本', slug: 'nihon' })).body.slug, 'nihon')
  t.match((await s.expect(201, 'POST', LIST, { title: 'A guess', state: 'hypothesized' })).body.state, 'hypothesized')
  const wrong = await s.expect(422, 'POST', LIST, { capability: '', state: 'active', evidence: [{}], mood: 'good' })
  t.same(wrong.body.errors.map(({ pointer }: any) => pointer).sort(), [
    '/capability',
    '/evidence/0/description',
    '/mood',
    '/state',
    '/title',
  ])
  for (const id of ['ir_nothing', 'shop.intent.nothing', 'shop.intent.NO', 'nowhere.intent.x', 'x']) {
    t.equal((await s.expect(404, 'GET', `/api/intent-records/${id}`)).body.code, 'not_found', id)
  }
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  t.equal((await s.expect(409, 'POST', LIST, { title: 'Late' })).body.code, 'project_archived')
})

t.test('of concurrent creates of one slug one succeeds, and the others are answered 409', async (t) => {
  const s = await startTestService(t)
  await intentOf(s)
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, n) => s.call('POST', LIST, { title: `Title ${n}`, slug: 'one' })),
  )
  t.same(replies.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409])
  const winner = replies.find(({ status }) => status === 201)!
  t.equal((await s.expect(200, 'GET', '/api/intent-records/shop.intent.one')).body.title, winner.body.title)
})

t.test('a change must name the version it was based on, and is refused if that is outdated', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { id } = await intent.record({ threat: 'memory' })
  const path = `/api/intent-records/${id}`
  const patch = (status: number, body: object, tag?: string) =>
    s.expect(status, 'PATCH', path, body, tag === undefined ? {} : { headers: { 'if-match': tag } })
  t.equal((await patch(428, { title: 'x' })).body.code, 'precondition_required')
  t.equal((await patch(412, { title: 'x' }, '"2"')).body.code, 'precondition_failed')
  for (const broken of ['"2", "3"', '1', '"1', '1"', 'W/1', 'w/"1"', '""1"'])
    t.equal((await patch(400, { title: 'x' }, broken)).body.code, 'invalid_header', broken)
  for (const strange of ['W/"1"', '"01"', '"abc"', '""', '"0"']) {
    t.equal((await patch(412, { title: 'x' }, strange)).body.code, 'precondition_failed', strange)
    t.equal((await patch(200, { threat: 'memory' }, strange)).body.version, 1, 'it has this value already')
  }
  const changed = await patch(200, { title: 'Other', threat: null }, '"1"')
  t.match(changed.body, { version: 2, title: 'Other' })
  t.notOk('threat' in changed.body)
  t.equal(changed.headers.get('etag'), '"2"')
  t.equal((await patch(200, { title: 'Other' }, '"1"')).body.version, 2, 'repeated: it has this value already')
  t.equal((await patch(200, { title: 'Third' }, '*')).body.version, 3)
  const race = await Promise.all(
    ['a', 'b', 'c'].map((title) => s.call('PATCH', path, { title }, { headers: { 'if-match': '"3"' } })),
  )
  t.same(race.map(({ status }) => status).sort(), [200, 412, 412])
  t.equal((await patch(422, { title: null }, '*')).body.errors[0].pointer, '/title')
  t.equal((await patch(422, {}, '*')).body.code, 'invalid_body')
  await patch(200, { evidence: [{ description: 'the gate passes' }] }, '*')
  const [known, unknown] = [1, 9].map((n) => ({ id: `${id}.e${n}`, description: 'x' }))
  t.match((await patch(422, { evidence: [known, known, unknown] }, '*')).body, {
    code: 'invalid_body',
    errors: [
      { pointer: '/evidence/1/id', detail: /repeats the id of an earlier entry/ },
      { pointer: '/evidence/2/id', detail: /is not evidence of the record/ },
    ],
  })
})

t.test('an illegal move changes nothing, and its answer lists the moves that are allowed', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { id } = await intent.record({})
  const before = (await s.expect(200, 'GET', `/api/intent-records/${id}`)).body
  for (const move of ['activate', 'deprecate']) {
    const refused = await s.expect(409, 'POST', `/api/intent-records/${id}/${move}`)
    t.match(refused.body, { code: 'illegal_move', state: 'proposed', detail: /^An intent record in state proposed/ })
    t.ok(refused.body.allowed.includes('accept'))
    for (const internal of ['make', 'observe', 'take_place', 'peer_conflict', 'repair_drafted'])
      t.notOk(refused.body.allowed.includes(internal), internal)
  }
  t.same((await s.expect(200, 'GET', `/api/intent-records/${id}`)).body, before)
  const accepted = await intent.move(id, 'accept', { reason: 'agreed' })
  t.match(accepted, { state: 'accepted', reason: 'agreed', state_by: { name: 'admin' } })
  t.same(await intent.move(id, 'accept', { reason: 'agreed' }), accepted, 'repeated: unchanged')
  t.same(await intent.move(id, 'accept'), accepted)
  const other = await s.expect(409, 'POST', `/api/intent-records/${id}/accept`, { reason: 'no, for this' })
  t.match(other.body, { code: 'illegal_move', detail: /agreed/ }, 'the first reason stands')
  await intent.move(id, 'activate')
  await intent.move(id, 'deprecate')
  await intent.move(id, 'contradict')
  for (const move of ['accept', 'activate', 'deprecate', 'supersede'])
    t.equal((await s.expect(409, 'POST', `/api/intent-records/${id}/${move}`)).body.state, 'contradicted', move)
})

t.test('an accepted record is changed only with intent.accept as well as intent.write', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const author = { token: await s.token('author', { roles: ['author'] }), headers: { 'if-match': '*' } }
  const approver = { token: await s.token('approver', { roles: ['approver'] }) }
  const { id } = await intent.record({})
  const path = `/api/intent-records/${id}`
  await s.expect(200, 'PATCH', path, { title: 'By the author' }, author)
  t.equal((await s.expect(403, 'POST', `${path}/accept`, {}, author)).body.code, 'forbidden')
  await s.expect(200, 'POST', `${path}/accept`, {}, approver)
  const refused = await s.expect(403, 'PATCH', path, { title: 'Again' }, author)
  t.match(refused.body, { code: 'forbidden', detail: /intent\.accept/ })
  t.equal(
    (await s.expect(403, 'PATCH', path, { title: 'Again' }, approver)).body.code,
    'forbidden',
    'changing needs intent.write',
  )
  const both = {
    token: await s.token('both', { rights: ['view', 'intent.write', 'intent.accept'] }),
    headers: author.headers,
  }
  t.equal((await s.expect(200, 'PATCH', path, { title: 'Again' }, both)).body.version, 3)
})

t.test('a move with if-match is refused if the record has changed since that version', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { id } = await intent.record({})
  const other = await intent.record({ slug: 'other' }, 'accepted')
  const path = `/api/intent-records/${id}`
  const move = (status: number, name: string, tag: string, body: object = {}) =>
    s.expect(status, 'POST', `${path}/${name}`, body, { headers: { 'if-match': tag } })
  await s.expect(200, 'PATCH', path, { title: 'Rewritten' }, { headers: { 'if-match': '"1"' } })
  t.match((await move(412, 'accept', '"1"')).body, { code: 'precondition_failed', detail: /version is 2, not 1/ })
  t.equal((await move(412, 'accept', 'W/"2"')).body.code, 'precondition_failed')
  for (const tag of ['2', '']) t.equal((await move(400, 'accept', tag)).body.code, 'invalid_header', tag)
  for (const tag of ['"1"', 'W/"1"', '"0"'])
    t.equal(
      (await move(409, 'activate', tag)).body.state,
      'proposed',
      'an illegal move is reported before an outdated version',
    )
  for (const name of ['supersede', 'contradict']) await move(412, name, '"1"')
  t.equal((await s.expect(200, 'GET', path)).body.state, 'proposed', 'nothing has changed')
  t.match((await move(200, 'accept', '"2"', { reason: 'agreed' })).body, { state: 'accepted', version: 2 })
  await move(200, 'accept', '"2"')
  await move(412, 'accept', '"1"')
  await move(409, 'accept', '"2"', { reason: 'for another' })
  await Promise.all([
    s.expect(200, 'PATCH', path, { title: 'Once more' }, { headers: { 'if-match': '"2"' } }),
    move(412, 'activate', '"2"'),
  ])
  await move(200, 'activate', '*')
  await move(412, 'deprecate', '"2"')
  await move(412, 'supersede', '"2"', { replacement: 'other' })
  t.match((await move(200, 'supersede', '"3"', { replacement: 'other' })).body, { superseded_by: other.id })
  await move(200, 'supersede', '"3"', { replacement: 'other' })
  await move(412, 'supersede', '"2"', { replacement: 'other' })
})

t.test('a conflict with an accepted record is added and removed only with intent.accept', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const author = { token: await s.token('author', { roles: ['author'] }) }
  const both = { token: await s.token('both', { rights: ['view', 'intent.write', 'intent.accept'] }) }
  const [a, b, guide] = await Promise.all([
    intent.record({ slug: 'a' }),
    intent.record({ slug: 'b' }),
    intent.record({ slug: 'guide' }, 'accepted'),
  ])
  const path = (id: string, more = '') => `/api/intent-records/${id}/relationships${more}`
  const conflict = (status: number, from: string, to: string, who: object) =>
    s.expect(status, 'POST', path(from), { type: 'conflicts_with', to }, who)
  const takeBack = (status: number, from: string, n: number, who: object) =>
    s.expect(status, 'DELETE', path(from, `/${from}.r${n}`), undefined, who)
  await conflict(200, a.id, 'b', author)
  await takeBack(200, a.id, 1, author)
  for (const [from, to] of [
    [guide.id, 'a'],
    [a.id, 'guide'],
  ] as const) {
    t.match((await conflict(403, from, to, author)).body, { code: 'forbidden', detail: /intent\.accept/ })
    await s.expect(200, 'POST', path(from), { type: 'refines', to }, author)
  }
  await conflict(200, a.id, 'b', author)
  await conflict(200, a.id, 'guide', both)
  await conflict(200, a.id, 'guide', author)
  t.match((await takeBack(403, a.id, 4, author)).body, { code: 'forbidden', detail: /intent\.accept/ })
  await takeBack(200, a.id, 2, author)
  await intent.move(b.id, 'accept')
  await takeBack(403, a.id, 3, author)
  await takeBack(200, a.id, 3, both)
  await takeBack(200, a.id, 4, both)
  await conflict(200, guide.id, 'b', both)
  await takeBack(403, guide.id, 2, author)
  for (const id of [b.id, guide.id]) await intent.move(id, 'deprecate')
  await conflict(200, a.id, 'guide', author)
})

t.test('a record has at most 64 conflicts, and a repeated one does not count again', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  await intent.record({ slug: 'center' })
  const paths = []
  for (let n = 0; n < 65; n++)
    paths.push(`/api/intent-records/${(await intent.record({ slug: `r${n}` })).id}/relationships`)
  const conflict = { type: 'conflicts_with', to: 'center' }
  for (const path of paths.slice(0, 64)) await s.expect(200, 'POST', path, conflict)
  const refused = await s.expect(409, 'POST', paths[64]!, conflict)
  t.match(refused.body, { code: 'illegal_move', detail: /64 conflicts/ })
  await s.expect(200, 'POST', paths[0]!, conflict)
  await s.expect(200, 'POST', paths[64]!, { type: 'refines', to: 'center' })
})

t.test('of concurrent supersede requests one replacement wins, and it names the superseded record', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const [old, heir, rival] = await Promise.all(
    ['old', 'heir', 'rival'].map((slug) => intent.record({ slug }, 'accepted')),
  )
  const supersede = (named: string | undefined) =>
    s.call(
      'POST',
      `/api/intent-records/${old.id}/supersede`,
      named === undefined ? {} : { replacement: named, reason: 'said better' },
    )
  const read = async (id: string) => (await s.expect(200, 'GET', `/api/intent-records/${id}`)).body
  t.match(await supersede('nothing'), {
    status: 422,
    body: { code: 'unknown_record', errors: [{ pointer: '/replacement' }] },
  })
  t.match(await supersede('old'), {
    status: 422,
    body: { code: 'invalid_body', errors: [{ pointer: '/replacement' }] },
  })
  const race = await Promise.all([supersede('heir'), supersede('shop.intent.rival'), supersede(heir.id)])
  const winner = (await read(old.id)).superseded_by
  t.equal(race.filter(({ status }) => status === 200).length, winner === heir.id ? 2 : 1)
  t.ok([heir.id, rival.id].includes(winner))
  const [won, lost] = winner === heir.id ? [heir, rival] : [rival, heir]
  t.same((await read(won.id)).supersedes, [old.id])
  t.same((await read(lost.id)).supersedes, [])
  t.equal((await read(old.id)).state, 'superseded')
  t.match(await s.call('POST', `/api/intent-records/${won.id}/supersede`, { replacement: old.id }), {
    status: 409,
    body: { code: 'illegal_move' },
  })
  await s.project('other')
  const foreign = await new Intent(s, 'other').record({ slug: 'old' })
  t.match(await s.call('POST', `/api/intent-records/${won.id}/supersede`, { replacement: foreign.id }), {
    status: 422,
    body: { code: 'unknown_record' },
  })
})

t.test('of records superseding each other in a circle at once at least one remains', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  for (const length of [2, 3]) {
    for (let round = 0; round < RACES; round++) {
      const slugs = Array.from({ length }, (_, n) => `of-${length}-${round}-${n}`)
      await Promise.all(slugs.map((slug) => intent.record({ slug }, 'accepted')))
      const said = await Promise.all(
        slugs.map((slug, n) =>
          s.call('POST', `/api/intent-records/shop.intent.${slug}/supersede`, {
            replacement: slugs[(n + 1) % length]!,
          }),
        ),
      )
      const refused = said.filter(({ status }) => status !== 200)
      t.not(refused.length, 0, `${length} records, round ${round}`)
      for (const { status, body } of refused)
        t.match({ status, body }, { status: 409, body: { code: 'illegal_move', detail: /cannot supersede another/ } })
    }
  }
  const { findings } = (await s.expect(200, 'GET', '/api/projects/shop/intent-check')).body
  t.notOk(findings.some(({ level }: any) => level === 'error'))
})

t.test('a record is never superseded by one that has already been contradicted', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  for (let round = 0; round < RACES; round++) {
    const [old, heir] = [`old-${round}`, `heir-${round}`]
    await Promise.all([old, heir].map((slug) => intent.record({ slug })))
    const path = (slug: string, move: string) => `/api/intent-records/shop.intent.${slug}/${move}`
    const moves = [
      () => s.call('POST', path(old, 'supersede'), { replacement: heir }),
      () => s.call('POST', path(heir, 'contradict')),
    ]
    await Promise.all((round % 2 === 0 ? moves : moves.toReversed()).map((move) => move()))
  }
  const told = await events(s, 'intent_record_')
  const ended = new Set<string>()
  for (const { event_type, payload } of told) {
    if (event_type === 'intent_record_contradicted') ended.add(payload.intent_record_id)
    if (event_type === 'intent_record_superseded') t.notOk(ended.has(payload.superseded_by), payload.key)
  }
  t.equal(ended.size, RACES)
})

t.test('a supersede whose client has disconnected does not delay those that wait behind it', async (t) => {
  const platform = new HoldablePlatform()
  const s = await startTestService(t, {}, { platform })
  const intent = await intentOf(s)
  for (const slug of ['a', 'b', 'c', 'd']) await intent.record({ slug }, 'accepted')
  const supersede = (slug: string, replacement: string, signal?: AbortSignal) =>
    s.call(
      'POST',
      `/api/intent-records/shop.intent.${slug}/supersede`,
      { replacement },
      signal === undefined ? {} : { signal },
    )
  const entered = t.capture(KeyedMutex.prototype, 'enter', KeyedMutex.prototype.enter)
  const exchanges: Exchange[] = []
  /** Returns once the request has its place in the line. */
  const inLine = async (slug: string, replacement: string, signal?: AbortSignal) => {
    const answered = supersede(slug, replacement, signal).catch(() => 'gone' as const)
    await until(
      async () => exchanges.push(...entered().map(({ args }) => args[1])),
      () => exchanges.length > places,
    )
    places += 1
    return { answered }
  }
  let places = 0
  platform.hold()
  const gone = new AbortController()
  const left = [await inLine('a', 'b', gone.signal), await inLine('b', 'c', gone.signal)]
  t.ok(platform.held > 0, 'the first one is in progress')
  const last = await inLine('c', 'd')
  gone.abort()
  t.same(await Promise.all(left.map(({ answered }) => answered)), ['gone', 'gone'])
  await until(
    async () => exchanges.map(({ aborted }) => aborted),
    (aborted) => aborted[0]! && aborted[1]!,
  )
  platform.letGo()
  t.match(await last.answered, { status: 200 })
  t.equal((await supersede('d', 'b')).status, 200, 'the second one left before its turn')
})

t.test(
  'a repeated supersede gets the same answer whatever became of the replacement, and a refused one names the state',
  async (t) => {
    const s = await startTestService(t)
    const intent = await intentOf(s)
    const [a, b] = [await intent.record({ slug: 'a' }, 'accepted'), await intent.record({ slug: 'b' }, 'accepted')]
    await intent.record({ slug: 'c' })
    const said = { replacement: 'b', reason: 'said better' }
    const decided = await intent.move(a.id, 'supersede', said)
    await intent.move(b.id, 'contradict')
    t.same(await intent.move(a.id, 'supersede', said), decided)
    const supersede = (slug: string, body: object) =>
      s.expect(409, 'POST', `/api/intent-records/shop.intent.${slug}/supersede`, body)
    const another = await supersede('a', { ...said, reason: 'another' })
    t.match(another.body, { state: 'superseded', detail: /^It is already superseded, .*said better/ })
    t.match((await supersede('a', { replacement: 'c' })).body, { state: 'superseded', allowed: [] })
    const refused = (await supersede('c', said)).body
    t.match(refused, {
      code: 'illegal_move',
      state: 'proposed',
      detail: /shop\.intent\.b is contradicted: it cannot supersede another/,
    })
    t.ok(refused.allowed.includes('supersede'), 'another record could supersede it')
  },
)

t.test('relationships are added and removed, and must lead to another record of the project', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const [a, b] = [await intent.record({ slug: 'a' }), await intent.record({ slug: 'b' })]
  const path = `/api/intent-records/${a.id}/relationships`
  const related = await s.expect(200, 'POST', path, { type: 'refines', to: 'b', notes: 'in part' })
  t.match(related.body.relationships, [{ id: `${a.id}.r1`, type: 'refines', to: b.id, notes: 'in part' }])
  t.same((await s.expect(200, 'POST', path, { type: 'refines', to: b.key, notes: 'in part' })).body, related.body)
  t.equal((await s.expect(422, 'POST', path, { type: 'supersedes', to: 'b' })).body.errors[0].pointer, '/type')
  t.equal((await s.expect(422, 'POST', path, { type: 'refines', to: 'c' })).body.code, 'unknown_record')
  t.equal((await s.expect(422, 'POST', path, { type: 'refines', to: 'a' })).body.code, 'invalid_body')
  t.equal((await s.expect(404, 'DELETE', `${path}/${b.id}.r1`)).body.code, 'not_found')
  t.same((await s.expect(200, 'DELETE', `${path}/${a.id}.r1`)).body.relationships, [])
})

t.test('intent records are filtered by state, words and path, in pages', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const record = (slug: string, more: object, state?: 'accepted') => intent.record({ slug, ...more }, state)
  await record('all', { scope: { paths: ['.'] } })
  await record('auth', { capability: 'Signed IN for weeks', scope: { paths: ['src/auth/', 'src'] } }, 'accepted')
  await record('login', { threat: 'passwords in logs', scope: { paths: ['src/auth/login.ts'] } }, 'accepted')
  await record('shop', { title: 'Receipts for all', strategy: 'Signed receipts', scope: { paths: ['src/shop'] } })
  await record('anywhere', { scope: { module: 'x' } })
  const slugs = async (query: string) =>
    (await s.expect(200, 'GET', `${LIST}?${query}`)).body.items.map(({ slug }: any) => slug)
  t.same(await slugs(''), ['anywhere', 'shop', 'login', 'auth', 'all'])
  t.same(await slugs('state=accepted'), ['login', 'auth'])
  t.same(await slugs('state=accepted,proposed'), ['anywhere', 'shop', 'login', 'auth', 'all'])
  t.same(await slugs('path=src/auth/login.ts&state=accepted,active'), ['login', 'auth'])
  t.same(await slugs('capability=signed%20in'), ['auth'])
  t.same(await slugs('title=for%20ALL'), ['shop'])
  t.same(await slugs('threat=LOGS&state=accepted'), ['login'])
  t.same(await slugs('strategy=signed'), ['shop'])
  t.same(await slugs('path=src/auth/login.ts'), ['login', 'auth', 'anywhere', 'all'], 'the nearest first, each once')
  t.same(await slugs('path=./src//auth/'), ['auth', 'anywhere', 'all'])
  t.same(await slugs('path=src/authors'), ['auth', 'anywhere', 'all'], 'src is a parent, src/auth is not a prefix')
  t.same(await slugs('path=src/auth/login.ts&state=accepted&capability=signed'), ['auth'])
  t.same(await slugs('path=.'), ['anywhere', 'all'], 'records without a path apply everywhere')
  t.same(await slugs('path=docs'), ['anywhere', 'all'])
  t.same(await slugs('path=src/../docs'), ['anywhere', 'all'])
  t.same(await slugs('path=docs/../src/./auth'), ['auth', 'anywhere', 'all'])
  t.same(await slugs('title=all%20receipts'), ['shop'], 'every word, in any order')
  t.same(await slugs('title=receipts%20nobody'), [])
  for (const path of ['..', 'src/../..', './../src']) {
    const { body } = await s.expect(400, 'GET', `${LIST}?path=${path}`)
    t.match(body, { code: 'invalid_query', errors: [{ pointer: '/path', detail: /must not lead out/ }] }, path)
  }
  for (const query of ['', 'path=src/auth/login.ts', 'state=accepted', 'state=accepted,proposed']) {
    const all = await slugs(query)
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await s.expect(200, 'GET', `${LIST}?${query}&limit=1${cursor}`)
      paged.push(...body.items.map(({ slug }: any) => slug))
      if (body.next_cursor === undefined) break
      cursor = `&cursor=${body.next_cursor}`
    }
    t.same(paged, all, query)
  }
  for (const query of ['state=done', 'mood=good', 'path=', 'limit=0'])
    t.equal((await s.expect(400, 'GET', `${LIST}?${query}`)).body.code, 'invalid_query', query)
})

t.test('scope paths are normalized, and must not lead out of the repository', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { id } = await intent.record({ slug: 'etc', scope: { paths: ['lib/../etc'] } })
  const slugs = async (path: string) =>
    (await s.expect(200, 'GET', `${LIST}?path=${path}`)).body.items.map(({ slug }: any) => slug)
  t.same([await slugs('etc/passwd'), await slugs('lib')], [['etc'], []])
  const scope = { paths: ['src', 'src/../../x'] }
  const refused = (pointer: string) => ({ code: 'invalid_body', errors: [{ pointer, detail: /must not lead out/ }] })
  t.match((await s.expect(422, 'POST', LIST, { title: 'Out', scope })).body, refused('/scope/paths/1'))
  const patched = await s.expect(422, 'PATCH', `/api/intent-records/${id}`, { scope }, { headers: { 'if-match': '*' } })
  t.match(patched.body, refused('/scope/paths/1'))
  const { hypotheses } = (await s.expect(201, 'POST', '/projects/shop/discoveries', DISCOVERY)).body
  const path = `/hypotheses/${hypotheses[0].hypothesis_id}/accept`
  t.match((await s.expect(422, 'POST', path, { record: { scope } })).body, refused('/record/scope/paths/1'))
  await s.expect(200, 'POST', path, { record: { scope: { paths: ['src/./..'] } } })
})

t.test('each change of a record is recorded as an event with the values of that version', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const { id } = await intent.record({ slug: 'one', capability: 'first' })
  await intent.record({ slug: 'two' })
  await s.expect(
    200,
    'PATCH',
    `/api/intent-records/${id}`,
    { capability: 'second', strategy: 's' },
    { headers: { 'if-match': '"1"' } },
  )
  await intent.move(id, 'accept', { reason: 'agreed' })
  await intent.move(id, 'activate')
  await s.expect(200, 'POST', `/api/intent-records/${id}/relationships`, { type: 'supports', to: 'two' })
  await s.expect(200, 'DELETE', `/api/intent-records/${id}/relationships/${id}.r1`)
  await intent.move(id, 'supersede', { replacement: 'two', reason: 'better' })
  await intent.move('shop.intent.two', 'contradict')
  const two = (await s.expect(200, 'GET', '/api/intent-records/shop.intent.two')).body.id
  const identity = (state: string, version: number) => ({
    intent_record_id: id,
    key: 'shop.intent.one',
    state,
    version,
  })
  const other = (state: string) => ({ intent_record_id: two, key: 'shop.intent.two', state, version: 1 })
  const content = (capability?: string) => ({
    title: 'Sessions survive',
    confidence: 1,
    evidence: [],
    ...(capability === undefined ? {} : { capability }),
  })
  const told = (await events(s, 'intent_record_')).map(({ event_type, payload, by, project }: any) => {
    t.equal(project, 'shop')
    t.equal(by.name, 'admin')
    return [event_type.slice('intent_record_'.length), payload]
  })
  t.same(told, [
    ['created', { ...identity('proposed', 1), slug: 'one', title: 'Sessions survive', values: content('first') }],
    ['created', { ...other('proposed'), slug: 'two', title: 'Sessions survive', values: content() }],
    [
      'updated',
      {
        ...identity('proposed', 2),
        changed: ['capability', 'strategy'],
        values: { capability: 'second', strategy: 's' },
      },
    ],
    ['accepted', { ...identity('accepted', 2), reason: 'agreed' }],
    [
      'drift_changed',
      {
        ...identity('accepted', 2),
        drift_status: 'unobserved',
        severity: 'low',
        since: told[4]![1].since,
        cause: 'state',
      },
    ],
    ['activated', identity('active', 2)],
    ['related', { ...identity('active', 2), relationship: 'supports', to: two }],
    ['unrelated', { ...identity('active', 2), relationship: 'supports', to: two }],
    ['superseded', { ...identity('superseded', 2), superseded_by: two, reason: 'better' }],
    ['related', { ...other('proposed'), relationship: 'supersedes', to: id }],
    ['contradicted', other('contradicted')],
  ])
})

t.test('the intent check reports unfinished and inconsistent records, and nothing about sound ones', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const check = async () => (await s.expect(200, 'GET', '/api/projects/shop/intent-check')).body
  t.match(await check(), { records: 0, errors: 0, warnings: 1, findings: [{ code: 'no_charter' }], more: false })
  await s.expect(200, 'PUT', '/api/projects/shop/charter', { mission: 'Sell things.' })
  t.match(await check(), { warnings: 0, findings: [] })
  await intent.record({ slug: 'a', state: 'hypothesized' })
  await intent.record({ slug: 'b' }, 'accepted')
  await intent.record({ slug: 'c', evidence: [{ description: 'x' }] }, 'active')
  await s.expect(200, 'POST', '/api/intent-records/shop.intent.b/relationships', { type: 'conflicts_with', to: 'c' })
  t.match((await check()).findings.map(({ code, key }: any) => `${key.slice('shop.intent.'.length)} ${code}`).sort(), [
    'a left_hypothesized',
    'b no_required_evidence',
    'b records_in_conflict',
    'c records_in_conflict',
  ])
  await intent.record({ slug: 'd', state: 'hypothesized' })
  await intent.move('shop.intent.d', 'supersede', { replacement: 'a' })
  await intent.record({ slug: 'e' })
  await intent.record({ slug: 'f' })
  await intent.move('shop.intent.e', 'supersede', { replacement: 'f' })
  await intent.move('shop.intent.f', 'contradict')
  await intent.record({ slug: 'g' })
  await intent.move('shop.intent.g', 'supersede', { replacement: 'b' })
  await intent.move('shop.intent.b', 'contradict')
  const { body } = await s.expect(200, 'GET', '/api/projects/shop/intent-check')
  t.match(body, { records: 7, errors: 0, warnings: 3 })
  t.same(body.findings.map(({ code, key }: any) => `${key.slice('shop.intent.'.length)} ${code}`).sort(), [
    'a left_hypothesized',
    'd replacement_not_accepted',
    'e replacement_not_accepted',
  ])
})
