/** Ids and names given by their beginning only. */
import t from 'tap'
import { cli, service } from './in-process.ts'

const digits = (text: string): string => text.padEnd(24, '0')
const WI = [`wi_${digits('0a1b2c')}`, `wi_${digits('0a1b2d')}`, `wi_${digits('0a1b2d1')}`] as const
const RUN = `runreq_${digits('abcdef1')}`
const BRIEF = `brief_${digits('123456')}`
const HYPOTHESIS = `hyp_${digits('654321')}`
const TOKEN = `tok_${digits('fedcba')}`
const RECORD = `ir_${digits('aaaaaa')}`
const SESSION = '6f1c2a34-5b7d-4e8f-9a0b-1c2d3e4f5a6b'

const LISTS: Record<string, object[]> = {
  '/api/work-items': WI.map((id) => ({ id })),
  '/api/run-requests': [{ id: RUN }],
  '/api/tokens': [{ id: TOKEN }],
  '/api/projects': [{ id: 'proj_1' }, { id: 'proj_2' }],
  '/api/projects/proj_1/formation-briefs': [],
  '/api/projects/proj_2/formation-briefs': [{ id: BRIEF }],
  '/api/projects/proj_1/intent-records': [{ id: RECORD }],
  '/api/projects/proj_2/intent-records': [],
  '/api/projects/proj_1/hypotheses': [{ id: HYPOTHESIS }],
  '/api/projects/proj_2/hypotheses': [],
  '/api/campaigns': [{ name: 'checkout' }, { name: 'payments-2' }, { name: 'payments-3' }],
  '/api/initiatives': [{ name: 'checkout-flow' }],
  '/api/agent-sessions': [{ session_id: SESSION }],
}
/** Ids that exist: any request about one of them is answered. */
const THERE = [
  ...WI,
  RUN,
  BRIEF,
  RECORD,
  HYPOTHESIS,
  TOKEN,
  SESSION,
  'checkout',
  'payments-2',
  'payments-3',
  'checkout-flow',
]

const CREATES = ['/api/work-items', '/api/projects/shop/run-requests', '/api/projects/shop/formation-briefs']

async function world(test: Parameters<typeof service>[0]) {
  const { env, asked } = await service(test, ({ method, url }) => {
    const { pathname } = new URL(url, 'http://x')
    const items = LISTS[pathname] ?? (pathname === '/api/events' ? [] : undefined)
    if (method === 'GET' && items !== undefined) return [200, { items }]
    const id = THERE.find((one) => pathname.split('/').includes(one))
    if (id !== undefined || CREATES.includes(pathname)) return [200, { id: id ?? WI[0], state: 'queued', reason: '' }]
    return [404, { status: 404, code: 'not_found', detail: 'There is none.' }]
  })
  return {
    asked,
    /** Runs the command line; returns its outcome and the requests that it made. */
    async run(...argv: string[]) {
      asked.length = 0
      const outcome = await cli(env, ...argv, '--json')
      return { ...outcome, requests: asked.map(({ method, url }) => `${method} ${new URL(url, 'http://x').pathname}`) }
    },
  }
}

t.test("a full id causes no request beyond the command's own", async (t) => {
  const { run, asked } = await world(t)
  t.same((await run('queue', 'hold', WI[0])).requests, [`POST /api/work-items/${WI[0]}/hold`])
  t.same((await run('run-request', 'show', RUN)).requests, [`GET /api/run-requests/${RUN}`])
  t.same((await run('token', 'revoke', TOKEN)).requests, [`DELETE /api/tokens/${TOKEN}`])
  await run('token', 'revoke', TOKEN, '--last-admin')
  t.equal(new URL(asked[0]!.url, 'http://x').searchParams.get('last_admin'), 'true')
  t.same((await run('campaign', 'pause', 'checkout')).requests, ['POST /api/campaigns/checkout/pause'])
  t.same((await run('session', 'show', SESSION)).requests, [`GET /api/agent-sessions/${SESSION}`])
})

t.test('an unambiguous beginning of an id is completed in every command', async (t) => {
  const { run } = await world(t)
  const lines: [line: string, last: string][] = [
    ['queue hold wi_0a1b2c', `POST /api/work-items/${WI[0]}/hold`],
    ['queue resume wi_0a1b2d1', `POST /api/work-items/${WI[2]}/resume`],
    ['run-request show runreq_abcdef', `GET /api/run-requests/${RUN}`],
    ['run-request fail runreq_abcdef1 --message x', `POST /api/run-requests/${RUN}/fail`],
    ['brief submit brief_123456', `POST /api/formation-briefs/${BRIEF}/submit`],
    ['hypothesis reject hyp_654321 --reason x', `POST /api/hypotheses/${HYPOTHESIS}/reject`],
    ['intent deprecate ir_aaaaaa --reason x', `POST /api/intent-records/${RECORD}/deprecate`],
    ['intent show shop.intent.slug', 'GET /api/intent-records/shop.intent.slug'],
    ['token revoke tok_fedcba', `DELETE /api/tokens/${TOKEN}`],
    ['session show 6f1c2a', `GET /api/agent-sessions/${SESSION}`],
    ['initiative findings checkout-f', 'GET /api/initiatives/checkout-flow'],
  ]
  for (const [line, last] of lines) t.equal((await run(...line.split(' '))).requests.at(-1), last, line)
  t.ok((await run('queue', 'show', 'wi_0a1b2c')).requests.includes(`GET /api/work-items/${WI[0]}`))
  t.ok((await run('campaign', 'show', 'checko')).requests.includes('GET /api/campaigns/checkout'))
  t.ok((await run('trace', 'wi_0a1b2c')).requests.includes(`GET /api/work-items/${WI[0]}`))
  t.ok((await run('trace', 'runreq_abcdef')).requests.includes(`GET /api/run-requests/${RUN}`))
})

t.test('an unambiguous beginning of an id is completed in options', async (t) => {
  const { run, asked } = await world(t)
  await run('task', 'shop', 'x', '--after', 'wi_0a1b2c,wi_0a1b2d1', '--after', WI[1], '--no-wait')
  t.same(asked.at(-1)!.body.depends_on, [WI[0], WI[2], WI[1]])
  await run('queue', 'resume', WI[0], '--after', 'wi_0a1b2d1')
  t.same(asked.at(-1)!.body.depends_on, [WI[2]])
  const queries: [line: string, query: string][] = [
    ['events --item-id wi_0a1b2c --run-request-id runreq_abcdef', `run_request_id=${RUN}&item_id=${WI[0]}`],
    ['session list --item wi_0a1b2c', `work_item=${WI[0]}`],
  ]
  for (const [line, query] of queries) {
    await run(...line.split(' '))
    t.ok(asked.at(-1)!.url.includes(query), asked.at(-1)!.url)
  }
  const create = 'run-request create --project shop --entry-event x --brief-digest d --brief brief_123456'
  await run(...create.split(' '))
  t.equal(asked.at(-1)!.body.brief.id, BRIEF)
  const refs = ['engineering', 'design', 'product'].map((kind) => `--${kind}-intent ir_aaaaaa`).join(' ')
  await run(...`brief create --project shop --objective x ${refs} --design-intent other --protect ir_aaaaaa`.split(' '))
  const { mission, protected_capabilities } = asked.at(-1)!.body
  t.same(mission.engineering_intent_refs, [RECORD])
  t.same(mission.design_intent_refs, [RECORD, 'other'])
  t.same(mission.product_intent_refs, [RECORD])
  t.same(protected_capabilities, [{ id: RECORD }])
})

t.test('an ambiguous beginning of an id is refused with its candidates, and nothing is changed', async (t) => {
  const { run } = await world(t)
  for (const line of ['queue hold wi_0a1b2d', 'queue resume wi_0a1b2c --after wi_0a1b2d', 'trace wi_0a1b2d']) {
    const { code, err, requests } = await run(...line.split(' '))
    t.equal(code, 2)
    t.equal(JSON.parse(err).detail, `wi_0a1b2d is the beginning of ${WI[1]}, ${WI[2]}: give more characters.`)
    t.ok(
      requests.every((one) => one === 'GET /api/work-items'),
      line,
    )
  }
  const { code, err } = await run('campaign', 'show', 'payments')
  t.equal(code, 2)
  t.match(JSON.parse(err).detail, 'payments is the beginning of payments-2, payments-3')
})

t.test('an id of another kind or a too short beginning is refused without a request', async (t) => {
  const { run } = await world(t)
  const lines: [line: string, detail: string][] = [
    [
      `run-request show ${WI[0]}`,
      `${WI[0]} names a work item, but a run request (runreq_...) is expected here. See: intendant queue show`,
    ],
    [
      'queue hold runreq_ab',
      'runreq_ab names a run request, but a work item (wi_...) is expected here. See: intendant run-request show',
    ],
    [
      `trace ${TOKEN}`,
      `${TOKEN} names a token, but a work item (wi_...) or a run request (runreq_...) is expected here. See: intendant token list`,
    ],
  ]
  for (const [line, detail] of lines) {
    const { code, err, requests } = await run(...line.split(' '))
    t.same([code, JSON.parse(err).detail, requests], [2, detail, []], line)
  }
})

t.test('an unknown or malformed id is passed to the service, which answers not found', async (t) => {
  const { run } = await world(t)
  const lines: [line: string, requests: string[]][] = [
    ['queue show wi_ffffff', ['GET /api/work-items', 'GET /api/work-items/wi_ffffff']],
    ['queue show 0a1b2c', ['GET /api/work-items/0a1b2c']],
    [`queue show wi_${digits('ffffff')}`, [`GET /api/work-items/wi_${digits('ffffff')}`]],
    ['campaign show nothing', ['GET /api/campaigns/nothing', 'GET /api/campaigns']],
    ['campaign show check', ['GET /api/campaigns/check']],
  ]
  for (const [line, requests] of lines) {
    const outcome = await run(...line.split(' '))
    t.equal(outcome.code, 3, line)
    t.equal(JSON.parse(outcome.err).detail, 'There is none.')
    t.same(outcome.requests, requests)
  }
})

t.test('a command that changes something needs the full name, and suggests it', async (t) => {
  const { run } = await world(t)
  const { code, err, requests } = await run('campaign', 'cancel', 'checko', '--reason', 'x')
  t.equal(code, 3)
  t.match(JSON.parse(err), {
    code: 'not_found',
    detail: 'There is none. checko is the beginning of checkout: a change needs the whole name.',
  })
  t.same(requests, ['POST /api/campaigns/checko/cancel', 'GET /api/campaigns'])
})

t.test('many abbreviations of one kind read its list once', async (t) => {
  const { run, asked } = await world(t)
  await run('queue', 'hold', WI[0].slice(0, 9), WI[1], WI[2])
  t.equal(asked.filter(({ method, url }) => method === 'GET' && url.startsWith('/api/work-items?')).length, 1)
  await run('queue', 'hold', WI[0].slice(0, 9), WI[2].slice(0, 11), WI[0].slice(0, 10))
  t.equal(asked.filter(({ method, url }) => method === 'GET' && url.startsWith('/api/work-items?')).length, 1)
})
