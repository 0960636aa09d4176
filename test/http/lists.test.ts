/** Every list of the API documents pages in the same way. */
import t from 'tap'
import { startTestService, type TestService } from './service-harness.ts'

const TRACE = 'ab'.repeat(16)
/** Rows in each list, or more. */
const ROWS = [1, 2, 3]

/** Three of everything that is listed, in the project `shop`. */
async function fill(s: TestService): Promise<void> {
  const make = (path: string, body: object) => s.expect(201, 'POST', path, body)
  for (const key of ['shop', 'till', 'yard']) await s.project(key)
  for (const i of ROWS) {
    const { id } = (await make('/api/projects/shop/intent-records', { title: `Intent ${i}` })).body
    await s.expect(200, 'POST', `/api/intent-records/${id}/accept`)
    const hypothesis = { confidence: 0.5, based_on: ['o'], possible_intent: { capability: `c${i}` } }
    const observations = [{ ref: 'o', summary: 'seen' }]
    await make('/api/projects/shop/discoveries', { observations, hypotheses: [hypothesis] })
    await make('/api/projects/shop/formation-briefs', { mission: { objective: `o${i}` } })
    const served = { supported_entry_events: ['*'], supported_throttle_modes: ['dry_run', 'full'] }
    await make('/api/projects/shop/engine-capabilities', { engine: `e${i}`, engine_version: '1', ...served })
    await s.request('shop', { idempotency_key: `k${i}` })
    await make('/api/work-items', { project: 'shop', objective: `o${i}` })
    const done_evidence = [{ kind: 'review', statement: 'done' }]
    await make('/api/campaigns', { name: `c${i}`, project: 'shop', mission: 'm', done_evidence })
    await make('/api/initiatives', { name: `i${i}`, outcome: 'o', members: [{ kind: 'project', ref: 'shop' }] })
    const item = { objective: 'o' }
    await make('/api/sentinels', { name: `s${i}`, project: 'shop', cron: '0 0 * * *', item })
    await s.runner(`r${i}`)
    await s.token(`t${i}`, { roles: ['viewer'] })
  }
  const at = '2026-01-31T12:00:00Z'
  const session = { agent_type: 'agent', project: 'shop', working_dir: '/w', source_log_path: '/l', started_at: at }
  const events = ROWS.map((i) => ({
    event_type: 'agent_session_started',
    project: 'shop',
    occurred_at: at,
    trace_id: TRACE,
    payload: { session_id: `s${i}`, ...session, capability: 'coding', access: 'full', trace_id: TRACE },
  }))
  await s.expect(200, 'POST', '/api/events', { events })
}

t.test(
  'every list can be read in pages, by next_cursor as by Link, and refuses what is no cursor or limit',
  async (t) => {
    const s = await startTestService(t)
    await fill(s)
    const schemas = s.openApi.components.schemas
    const lists = Object.entries<any>(s.openApi.paths).flatMap(([path, { get }]) => {
      const { $ref } = get?.responses[200]?.content?.['application/json']?.schema ?? {}
      const { properties = {} } = schemas[$ref?.split('/').at(-1)] ?? {}
      return properties.next_cursor === undefined
        ? []
        : [{ path, rows: properties.items === undefined ? 'events' : 'items' }]
    })
    t.ok(lists.length > 20)
    for (const { path, rows } of lists) {
      const list = path.replace('{id}', 'shop').replace('{trace_id}', TRACE)
      const whole = (await s.expect(200, 'GET', `${list}?limit=500`)).body
      t.ok(whole[rows].length >= ROWS.length, `${path} has rows`)
      t.notOk(whole.next_cursor, `${path} is on one page`)
      const found: unknown[] = []
      let next: string | undefined = `${list}?limit=2`
      while (next !== undefined) {
        const { body, headers } = await s.expect(200, 'GET', next)
        t.ok(body[rows].length <= 2, `${path} keeps to its limit`)
        found.push(...body[rows])
        next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
        const cursor = next === undefined ? undefined : new URL(next, s.service.url).searchParams.get('cursor')
        t.equal(cursor, body.next_cursor, `${path} links to its next_cursor`)
      }
      t.strictSame(found, whole[rows], `the pages of ${path} are the whole list`)
      t.equal((await s.expect(400, 'GET', `${list}?cursor=e30`)).body.code, 'invalid_cursor', path)
      for (const limit of [0, 501])
        t.equal((await s.expect(400, 'GET', `${list}?limit=${limit}`)).body.code, 'invalid_query')
    }
  },
)
