/** What needs a person: several kinds of things in one list, whose pages follow each other. */
import t from 'tap'
import { startTestService, type TestService } from './service-harness.ts'

/** Two requests that are lost and three that wait for an approval. */
async function troubled(s: TestService): Promise<void> {
  await s.project('greeter')
  const token = await s.runner('r1', { capacity: 2 })
  for (const name of ['a', 'b']) {
    await s.request('greeter', { idempotency_key: name })
    const polled = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token })
    await s.expect(200, 'POST', `/api/run-requests/${polled.body.request_id}/started`, {}, { token })
  }
  for (const instance of ['one', 'two']) {
    await s.expect(200, 'POST', '/api/runners/r1/session', { instance, version: '1' }, { token })
  }
  for (const name of ['c', 'd', 'e']) await s.request('greeter', { throttle: 'full', idempotency_key: name })
  while ((await reasons(s, '?reason=lost')).length < 2) await s.expect(200, 'GET', '/api/attention')
}

/** Reason and key of everything in the list, page after page. */
async function reasons(s: TestService, query = ''): Promise<string[]> {
  const found: string[] = []
  for (let path = `/api/attention${query}`; ; ) {
    const { body, headers } = await s.expect(200, 'GET', path)
    for (const { reason, run_request } of body.items) found.push(`${reason} ${run_request.idempotency_key}`)
    if (body.next_cursor === undefined) return found
    const link = headers.get('link')!
    path = link.slice(1, link.indexOf('>'))
  }
}

t.test('pages of any size give everything once, most pressing first', async (t) => {
  const s = await startTestService(t)
  await troubled(s)
  const all = ['lost b', 'lost a', 'unapproved e', 'unapproved d', 'unapproved c']
  for (const limit of [1, 2, 3, 4, 5, 6]) t.same(await reasons(s, `?limit=${limit}`), all, `${limit} a page`)
  t.same(await reasons(s, '?reason=unapproved&limit=2'), all.slice(2))
  const { next_cursor } = (await s.expect(200, 'GET', '/api/attention?limit=1')).body
  for (const path of [`?reason=unapproved&cursor=${next_cursor}`, '?cursor=WyJhIiwiYiJd', '?cursor=x']) {
    t.equal((await s.expect(400, 'GET', `/api/attention${path}`)).body.code, 'invalid_cursor', path)
  }
})
