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

/** The lists of the API documents, in the project `shop` where a list is of one project. */
function listsOf({ openApi }: TestService) {
  return Object.entries<any>(openApi.paths).flatMap(([path, { get }]) => {
    const { $ref } = get?.responses[200]?.content?.['application/json']?.schema ?? {}
    const { properties = {} } = openApi.components.schemas[$ref?.split('/').at(-1)] ?? {}
    if (properties.next_cursor === undefined) return []
    const list = path.replace('{id}', 'shop').replace('{trace_id}', TRACE)
    return [{ path, list, rows: properties.items === undefined ? 'events' : 'items' }]
  })
}

t.test(
  'every list can be read in pages, by next_cursor as by Link, and refuses what is no cursor or limit',
  async (t) => {
    const s = await startTestService(t)
    await fill(s)
    const lists = listsOf(s)
    t.ok(lists.length > 20)
    for (const { path, list, rows } of lists) {
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

t.test('a list of entities refuses the cursor of another list, and its own with other filters', async (t) => {
  const s = await startTestService(t)
  await fill(s)
  // A cursor of events is a place in the log, good for every list of events.
  const lists = listsOf(s).flatMap(({ list, rows, path }) => (/events|traces/.test(path + rows) ? [] : [list]))
  const refuses = async (list: string, cursor: string, of: string): Promise<void> => {
    const { body } = await s.expect(400, 'GET', `${list}cursor=${cursor}`)
    t.equal(body.code, 'invalid_cursor', `${list} refuses the cursor of ${of}`)
  }
  for (const [i, list] of lists.entries()) {
    const { next_cursor: cursor } = (await s.expect(200, 'GET', `${list}?limit=1`)).body
    await s.expect(200, 'GET', `${list}?limit=2&cursor=${cursor}`)
    await refuses(`${lists[(i + 1) % lists.length]}?`, cursor, list)
    if (list.includes('/shop/')) await refuses(`${list.replace('/shop/', '/till/')}?`, cursor, list)
  }
  const { next_cursor: cursor } = (await s.expect(200, 'GET', '/api/work-items?limit=1')).body
  await refuses('/api/work-items?state=queued&', cursor, 'all states')
})
