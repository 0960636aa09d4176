/**
 * Another project's intent is hidden from a token that may not see it, and each right permits only its own endpoints.
 */
import t from 'tap'
import { DISCOVERY, Intent, intentOf } from './intent-harness.ts'
import { startTestService } from './service-harness.ts'

t.test(
  'records, discoveries, hypotheses and drift of another project are hidden, whatever rights a token has',
  async (t) => {
    const s = await startTestService(t)
    const theirs = await intentOf(s, 'theirs')
    await s.project('mine')
    const mine = await new Intent(s, 'mine').record({ slug: 'own' }, 'accepted')
    const record = await theirs.record({ slug: 'secret', scope: { paths: ['src'] } }, 'accepted')
    await theirs.observe(record.id, { result: 'fail' })
    const { body } = await s.expect(201, 'POST', '/projects/theirs/discoveries', DISCOVERY)
    const hypothesis = body.hypotheses[0].hypothesis_id
    const as = {
      token: await s.token('confined', { roles: ['admin'], projects: ['mine'] }),
      headers: { 'if-match': '*' },
    }
    const hidden: [string, string, unknown?][] = [
      ['GET', `/api/discoveries/${body.id}`],
      ['GET', `/api/hypotheses/${hypothesis}`],
      ['POST', `/hypotheses/${hypothesis}/accept`, {}],
      ['POST', `/api/hypotheses/${hypothesis}/accept`, {}],
      ['POST', `/api/hypotheses/${hypothesis}/reject`, { reason: 'x' }],
      ['GET', '/api/projects/theirs/intent-check'],
      ['GET', '/api/projects/theirs/drift/secret'],
      ['GET', '/api/projects/theirs/drift/secret/history'],
      ['POST', '/api/projects/theirs/drift/secret/classify', { classification: 'real' }],
      ['POST', '/api/projects/theirs/drift/secret/repair-brief'],
      ['GET', `/api/projects/mine/drift/${record.id}`],
      ['POST', `/api/projects/mine/drift/${record.id}/classify`, { classification: 'real' }],
    ]
    for (const prefix of ['', '/api']) {
      for (const list of ['intent-records', 'discoveries', 'hypotheses', 'drift'])
        hidden.push(['GET', `${prefix}/projects/theirs/${list}`])
      hidden.push(['POST', `${prefix}/projects/theirs/intent-records`, { title: 'x' }])
      hidden.push(['POST', `${prefix}/projects/theirs/discoveries`, DISCOVERY])
    }
    for (const named of [record.id, record.key]) {
      const path = `/api/intent-records/${named}`
      hidden.push(['GET', path], ['PATCH', path, { title: 'x' }], ['DELETE', `${path}/relationships/${record.id}.r1`])
      for (const move of ['accept', 'activate', 'deprecate', 'contradict', 'supersede'])
        hidden.push(['POST', `${path}/${move}`, {}])
      hidden.push(['POST', `${path}/relationships`, { type: 'supports', to: mine.id }])
    }
    for (const [method, path, sent] of hidden) {
      t.match(await s.call(method, path, sent, as), { status: 404, body: { code: 'not_found' } }, `${method} ${path}`)
    }
    for (const named of [record.id, record.key, 'secret']) {
      const related = await s.call(
        'POST',
        `/api/intent-records/${mine.id}/relationships`,
        { type: 'supports', to: named },
        as,
      )
      t.match(related, { status: 422, body: { code: 'unknown_record' } }, named)
      const superseded = await s.call('POST', `/api/intent-records/${mine.id}/supersede`, { replacement: named }, as)
      t.match(superseded, { status: 422, body: { code: 'unknown_record' } }, named)
    }
    for (const path of [
      '/api/attention',
      '/api/events?limit=500',
      '/projects/mine/drift',
      '/projects/mine/intent-records',
    ]) {
      const { body: seen } = await s.expect(200, 'GET', path, undefined, as)
      for (const secret of ['theirs', record.id, hypothesis, body.id]) t.notMatch(JSON.stringify(seen), secret, path)
    }
    t.equal((await s.expect(200, 'GET', `/api/intent-records/${record.id}`)).body.state, 'accepted')
    t.equal((await s.expect(200, 'GET', `/api/hypotheses/${hypothesis}`)).body.state, 'open')
  },
)

t.test('writing, accepting and classifying intent each need their own right', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const record = await intent.record({ slug: 'one' })
  const { body } = await s.expect(201, 'POST', '/projects/shop/discoveries', DISCOVERY)
  const hypothesis = body.hypotheses[0].hypothesis_id
  const path = `/api/intent-records/${record.id}`
  const doors: [right: string, method: string, path: string, body?: unknown][] = [
    ['intent.write', 'POST', '/projects/shop/intent-records', { title: 'x' }],
    ['intent.write', 'PATCH', path, { title: 'x' }],
    ['intent.write', 'POST', '/projects/shop/discoveries', DISCOVERY],
    ['intent.write', 'POST', `${path}/relationships`, { type: 'supports', to: 'two' }],
    ['intent.write', 'DELETE', `${path}/relationships/r1`],
    ['intent.write', 'POST', '/api/projects/shop/drift/one/repair-brief'],
    ['intent.accept', 'POST', `${path}/accept`, {}],
    ['intent.accept', 'POST', `${path}/activate`, {}],
    ['intent.accept', 'POST', `${path}/deprecate`, {}],
    ['intent.accept', 'POST', `${path}/contradict`, {}],
    ['intent.accept', 'POST', `${path}/supersede`, {}],
    ['intent.accept', 'POST', `/hypotheses/${hypothesis}/accept`, {}],
    ['intent.accept', 'POST', `/api/hypotheses/${hypothesis}/reject`, { reason: 'x' }],
    ['drift.classify', 'POST', '/api/projects/shop/drift/one/classify', { classification: 'real' }],
    ['view', 'GET', '/projects/shop/intent-records'],
    ['view', 'GET', '/projects/shop/drift'],
    ['view', 'GET', '/projects/shop/hypotheses'],
  ]
  const rights = ['view', 'intent.write', 'intent.accept', 'drift.classify']
  for (const right of rights) {
    const token = await s.token(right, { rights: [right] })
    for (const [needed, method, path, sent] of doors) {
      // An outdated version, so that a request with the right changes nothing.
      const { status } = await s.call(method, path, sent, { token, headers: { 'if-match': '"99"' } })
      t.equal(status === 403, needed !== right, `${method} ${path} with ${right}: ${status}`)
    }
  }
})
