import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import t from 'tap'
import { AccessCheck } from '../../http/access.ts'
import { createMetrics } from '../../http/metrics.ts'
import type { Route } from '../../http/route.ts'
import { allRoutes } from '../../http/routes.ts'
import { ROLES } from '../../machines/rights.ts'
import type { Principal, Principals } from '../../runtime/access/principals.ts'
import { ROLE_RIGHTS } from '../../runtime/access/rights.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { accessTable } from './access-table.ts'
import { RUN_RIGHTS, underWay } from './run-token-harness.ts'
import { raw, startTestService, type TestService } from './service-harness.ts'

/** The route list of a service like the one under test. */
function routesOf(s: TestService): readonly Route[] {
  const { runtime } = s.service
  const context = {
    runtime,
    dispatcher: undefined,
    principals: undefined,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    onClosing: () => {},
  }
  return allRoutes(context as never, { version: '0', isClosing: () => false, port: () => 0 })
}

/** The route's path with ids that do not exist, so that a caller with access gets neither 401 nor 403. */
function pathOf(route: Route, runnerId = 'nobody'): string {
  return route.path.replace(':runner_id', runnerId).replace(':code', 'not_found').replaceAll(/:\w+/g, 'nothing')
}

async function ask(
  s: TestService,
  route: Route,
  token: string | null,
  path = pathOf(route),
): Promise<{ status: number; code?: string }> {
  const response = await fetch(s.service.url + path, {
    method: route.method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(route.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(route.endless === true ? { accept: 'text/event-stream' } : {}),
    },
    // Malformed JSON, so that a request that passes the gate changes nothing.
    ...(route.body === undefined ? {} : { body: '{' }),
    signal: AbortSignal.timeout(5_000),
  })
  if (route.endless === true && response.status === 200) {
    await response.body?.cancel()
    return { status: 200 }
  }
  const text = await response.text()
  return { status: response.status, code: text.startsWith('{') ? JSON.parse(text).code : undefined }
}

t.test('the access check remembers only the most recent valid tokens, and remembers no invalid one', (t) => {
  const looked: string[] = []
  const principal = { name: 'anybody' } as Principal
  const find = (token: string): Principal | undefined => {
    looked.push(token)
    return token.startsWith('no') ? undefined : principal
  }
  const check = new AccessCheck({ find, holds: () => true } as Partial<Principals> as Principals)
  const callers = Array.from({ length: 20_000 }, (_, n) => `t${n}`)
  const enter = (token: string) => check.authenticate(`Bearer ${token}`)
  for (const token of callers) enter(token)
  t.same(looked, callers)
  for (let n = 0; n < 20_000; n += 1) t.equal(enter(`no${n}`), undefined)
  looked.length = 0
  for (const token of callers.slice(-10_000)) enter(token)
  t.same(looked, [], 'invalid tokens push no valid one out')
  for (const token of callers.slice(0, 100)) t.equal(enter(token), principal)
  t.same(looked, callers.slice(0, 100), 'the oldest tokens are looked up again')
  t.end()
})

t.test('every endpoint lets in exactly the roles, runners and runs that the access table names', async (t) => {
  const { s, token: runToken } = await underWay(t)
  await s.project('greeter')
  const runnerToken = await s.runner('somebody')
  const otherRunner = await s.runner('somebody-else')
  const tokens = new Map<string, string>()
  for (const role of ROLES) tokens.set(role, await s.token(role, { roles: [role] }))
  for (const route of routesOf(s)) {
    const name = `${route.method} ${route.path}`
    const { right, orRight, runner, isClosedToRuns = false } = route.access
    const nobody = await ask(s, route, null)
    if (right === 'none') {
      t.not(nobody.status, 401, `${name} needs no token`)
      continue
    }
    t.equal(nobody.status, 401, `${name} without a token`)
    t.equal((await ask(s, route, 'itd_wrong')).status, 401, `${name} with a wrong token`)
    for (const role of ROLES) {
      const rights: readonly string[] = ROLE_RIGHTS[role]
      const isAllowed = right === 'any' || rights.includes(right) || (orRight !== undefined && rights.includes(orRight))
      const { status } = await ask(s, route, tokens.get(role)!)
      t.equal(status === 403, !isAllowed, `${name} as ${role}: ${status}`)
    }
    const mayRun = right === 'any' || (RUN_RIGHTS.includes(right) && !isClosedToRuns)
    const { status: ofRun } = await ask(s, route, runToken)
    t.equal(ofRun === 403, !mayRun, `${name} as a run: ${ofRun}`)
    const own = await ask(s, route, runnerToken, pathOf(route, 'somebody'))
    t.equal(own.status === 403, runner === undefined && right !== 'any', `${name} as a runner: ${own.status}`)
    if (runner === 'own' && route.path.includes(':runner_id')) {
      const other = await ask(s, route, otherRunner, pathOf(route, 'somebody'))
      t.match(other, { status: 403, code: 'not_the_runner' }, `${name} as another runner`)
    }
  }
})

t.test('the table in docs/ACCESS.md is the one made from the route list', async (t) => {
  const s = await startTestService(t)
  const file = fileURLToPath(
    new URL(import.meta.url.includes('/dist/') ? '../../../docs/ACCESS.md' : '../../docs/ACCESS.md', import.meta.url),
  )
  const table = accessTable(routesOf(s))
  const [begin, end] = ['<!-- begin: made from the route list -->', '<!-- end -->']
  const written = readFileSync(process.env.ACCESS_FILE ?? file, 'utf8')
  const made = `${written.slice(0, written.indexOf(begin) + begin.length)}\n\n${table}\n${written.slice(written.indexOf(end))}`
  if (process.env.TAP_SNAPSHOT === '1') writeFileSync(process.env.ACCESS_FILE ?? file, made)
  else t.equal(written, made, 'TAP_SNAPSHOT=1 writes the table anew')
})

t.test('entities of projects that a token may not see are answered as not found', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  const theirs = await s.project('theirs')
  const request = await s.request('theirs')
  const brief = (await s.expect(201, 'POST', '/api/projects/theirs/formation-briefs', { mission: { objective: 'x' } }))
    .body
  const theirRunner = await s.runner('their-runner', { allowed_projects: ['theirs'] })
  await s.expect(200, 'GET', '/api/runners/their-runner/run-requests/next', undefined, { token: theirRunner })
  const started = await s.expect(200, 'POST', `/api/run-requests/${request.id}/started`, {}, { token: theirRunner })
  const runId = started.body.run_request.engine_run_id
  const token = await s.token('confined', { roles: ['admin'], projects: ['mine'] })
  const as = { token }
  const both = { name: 'both', roles: ['viewer'], projects: ['mine', 'theirs'] }
  const wider = (await s.expect(201, 'POST', '/api/tokens', both)).body
  const hidden: [string, string, unknown?][] = [
    ['DELETE', `/api/tokens/${wider.id}`],
    ['GET', '/api/projects/theirs'],
    ['GET', `/api/projects/${theirs.id}`],
    ['PATCH', '/api/projects/theirs', { name: 'x' }],
    ['GET', '/api/projects/theirs/charter'],
    ['PUT', '/api/projects/theirs/charter', {}],
    ['POST', '/api/projects/theirs/run-requests', { entry_event: 'greet_requested' }],
    ['GET', '/api/projects/theirs/run-requests'],
    ['GET', '/api/run-requests?project=theirs'],
    ['GET', `/api/run-requests/${request.id}`],
    ['POST', `/api/run-requests/${request.id}/cancel`, {}],
    ['POST', `/api/run-requests/${request.id}/release`, {}],
    ['POST', '/api/run-requests/cancel', { project: 'theirs' }],
    ['POST', '/api/projects/theirs/formation-briefs', { mission: { objective: 'x' } }],
    ['POST', '/formation-briefs', { project: 'theirs', mission: { objective: 'x' } }],
    ['GET', `/api/formation-briefs/${brief.id}`],
    ['GET', `/formation-briefs/${brief.id}`],
    ['GET', `/api/engine-runs/${runId}`],
    ['GET', '/api/runners/their-runner'],
    [
      'POST',
      '/api/events',
      { events: [{ project: 'theirs', event_type: 'x', occurred_at: '2026-01-01T00:00:00Z', payload: {} }] },
    ],
  ]
  for (const [method, path, body] of hidden) {
    // As for a project that does not exist: 422 where the body names it, else 404.
    const isStated = JSON.stringify(body)?.includes('theirs')
    const [status, code] = isStated ? [422, 'unknown_project'] : [404, 'not_found']
    t.match(await s.call(method, path, body, as), { status, body: { code } }, `${method} ${path}`)
  }
  for (const path of ['/api/run-requests', '/api/runners', '/api/attention']) {
    t.same((await s.expect(200, 'GET', path, undefined, as)).body.items, [], path)
  }
  t.same(
    (await s.expect(200, 'GET', '/api/projects', undefined, as)).body.items.map((item: any) => item.key),
    ['mine'],
  )
  t.same(
    (await s.expect(200, 'GET', '/api/tokens', undefined, as)).body.items.map((item: any) => item.name),
    ['confined'],
  )
  t.equal((await s.expect(403, 'POST', '/api/projects', { key: 'new', name: 'new' }, as)).body.code, 'forbidden')
  t.equal((await s.expect(403, 'POST', '/api/backups', {}, as)).body.code, 'forbidden')
  const stranger = await s.runner('my-runner', { allowed_projects: ['mine'] })
  t.equal((await s.call('POST', `/api/run-requests/${request.id}/accepted`, {}, { token: stranger })).status, 404)
  t.equal((await s.call('POST', `/api/engine-runs/${runId}/trace-summary`, {}, { token: stranger })).status, 404)
  t.equal((await s.call('GET', `/api/formation-briefs/${brief.id}`, undefined, { token: stranger })).status, 404)
})

t.test('nobody grants more rights, projects or trust than their own token has', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  await s.project('theirs')
  const keeper = {
    token: await s.token('keeper', { rights: ['token.manage', 'runner.manage', 'view'], projects: ['mine'] }),
  }
  const refused = async (path: string, body: object): Promise<void> => {
    t.equal((await s.expect(403, 'POST', path, body, keeper)).body.code, 'grants_too_much', JSON.stringify(body))
  }
  await refused('/api/tokens', { name: 'x', roles: ['admin'], projects: ['mine'] })
  await refused('/api/tokens', { name: 'x', rights: ['work.submit'], projects: ['mine'] })
  await refused('/api/tokens', { name: 'x', roles: ['viewer'] })
  await refused('/api/tokens', { name: 'x', roles: ['viewer'], projects: ['theirs'] })
  await refused('/api/runners', { id: 'x', allowed_projects: ['*'] })
  await refused('/api/runners', { id: 'x', allowed_projects: ['theirs'] })
  await refused('/api/runners', { id: 'x', allowed_projects: ['mine'], trusted: true })
  await s.expect(201, 'POST', '/api/tokens', { name: 'y', roles: ['viewer'], projects: ['mine'] }, keeper)
  await s.expect(201, 'POST', '/api/runners', { id: 'y', allowed_projects: ['mine'] }, keeper)
  t.equal((await s.expect(403, 'PATCH', '/api/runners/y', { trusted: true }, keeper)).body.code, 'grants_too_much')
  const more = { name: 'more', rights: ['view', 'work.submit'], projects: ['mine'] }
  const path = `/api/tokens/${(await s.expect(201, 'POST', '/api/tokens', more)).body.id}`
  const kept = (await s.expect(403, 'DELETE', path, undefined, keeper)).body
  t.match(kept, { code: 'grants_too_much', detail: /work\.submit/ }, 'nor revokes a token that has more rights')
  await s.expect(204, 'DELETE', path)
  await s.runner('wide')
  await s.expect(201, 'POST', '/api/runners', { id: 'shared', allowed_projects: ['mine', 'theirs'] })
  for (const id of ['wide', 'shared']) {
    for (const [method, path, body] of [
      ['PATCH', `/api/runners/${id}`, { capacity: 2 }],
      ['POST', `/api/runners/${id}/token`, {}],
      ['DELETE', `/api/runners/${id}`, undefined],
    ] as const)
      t.equal((await s.expect(403, method, path, body, keeper)).body.code, 'forbidden', `${method} ${path}`)
    t.same(
      (await s.expect(200, 'GET', `/api/runners/${id}`)).body.removed_at,
      undefined,
      'the runner stays registered for its other projects',
    )
  }
  t.equal(
    (await s.expect(422, 'POST', '/api/tokens', { name: 'z', roles: ['viewer'], projects: ['nowhere'] })).body.code,
    'unknown_project',
  )
  t.equal(
    (await s.expect(422, 'POST', '/api/runners', { id: 'z', allowed_projects: ['nowhere'] })).body.code,
    'unknown_project',
  )
})

t.test("revocation, expiry and removal end a token, and a removed runner's parked poll, within a second", async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const token = await s.runner('r1')
  const parked = s.call('GET', '/api/runners/r1/run-requests/next?wait=30', undefined, { token })
  await s.expect(200, 'GET', '/api/runners/r1')
  const begun = performance.now()
  await s.expect(204, 'DELETE', '/api/runners/r1')
  const ended = await parked
  t.ok(performance.now() - begun < 1_000)
  t.ok([401, 409].includes(ended.status), String(ended.status))
  t.equal((await s.expect(401, 'GET', '/api/version', undefined, { token })).body.code, 'unauthenticated')

  const soon = await s.token('soon', {
    roles: ['viewer'],
    expires_at: new Date(platform.wallMs() + 60_000).toISOString(),
  })
  await s.expect(200, 'GET', '/api/projects', undefined, { token: soon })
  platform.advance(60_000)
  await s.expect(401, 'GET', '/api/projects', undefined, { token: soon })

  const tokens = async (): Promise<any[]> => (await s.expect(200, 'GET', '/api/tokens')).body.items
  const states = async () => Object.fromEntries((await tokens()).map(({ name, state }) => [name, state]))
  t.match(await states(), { soon: 'expired', admin: 'active' })
  const viewer = await s.token('viewer', { roles: ['viewer'] })
  await s.expect(200, 'GET', '/api/projects', undefined, { token: viewer })
  const { id } = (await tokens()).find(({ name }) => name === 'viewer')
  const revoked = performance.now()
  await s.expect(204, 'DELETE', `/api/tokens/${id}`)
  await s.expect(401, 'GET', '/api/projects', undefined, { token: viewer })
  t.ok(performance.now() - revoked < 1_000)
  await s.expect(204, 'DELETE', `/api/tokens/${id}`)
  t.match(await states(), { viewer: 'revoked', soon: 'expired', admin: 'active' })
})

t.test(
  'the last use of a token is recorded within a minute, once for all uses since, and not again without one',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const token = await s.token('eve', { roles: ['viewer'] })
    const id = (await s.expect(200, 'GET', '/api/tokens')).body.items.find((one: any) => one.name === 'eve').id
    const read = () => s.service.runtime.read({ kind: 'token', id })!.context
    const pass = async (): Promise<void> => {
      platform.advance(60_000)
      await s.service.runtime.journal.settled()
    }
    await pass()
    t.equal(read().last_used_at, undefined, 'it was not used')
    const usedMs = platform.wallMs()
    for (let n = 0; n < 3; n++) await s.expect(200, 'GET', '/api/projects', undefined, { token })
    t.equal(read().last_used_at, undefined, 'a use by itself writes nothing')
    await pass()
    const first = await until(
      async () => read().last_used_at,
      (at) => at !== undefined,
    )
    const atMs = Date.parse(first)
    t.ok(atMs >= usedMs && atMs <= usedMs + 61_000, first)
    const { items } = (await s.expect(200, 'GET', '/api/tokens')).body
    t.equal(items.find((one: any) => one.name === 'eve').last_used_at, first)
    await pass()
    await s.project('shop')
    t.equal(read().last_used_at, first)
  },
)

t.test('every caller is told what it may do, and nothing of anybody else', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  const self = async (token: string) => (await s.expect(200, 'GET', '/api/tokens/self', undefined, { token })).body
  t.match(await self(s.admin), { kind: 'token', name: 'admin', rights: ROLE_RIGHTS.admin, projects: ['*'] })
  const expires = new Date(Date.now() + 600_000).toISOString()
  const more = { roles: ['viewer'], rights: ['work.submit'], projects: ['mine'], expires_at: expires }
  const { body: made } = await s.expect(201, 'POST', '/api/tokens', { name: 'ada', ...more })
  t.strictSame(await self(made.token), {
    kind: 'token',
    id: made.id,
    name: 'ada',
    rights: ['view', 'work.submit'],
    projects: ['mine'],
    expires_at: expires,
  })
  const runner = await s.runner('r1', { allowed_projects: ['mine'] })
  t.strictSame(await self(runner), { kind: 'runner', id: 'r1', name: 'runner:r1', rights: [], projects: ['mine'] })
})

t.test('nobody creates a token that outlives their own', async (t) => {
  const s = await startTestService(t)
  const at = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString()
  const short = { token: await s.token('short', { roles: ['admin'], expires_at: at(600) }) }
  const make = async (status: number, more: object) =>
    (await s.expect(status, 'POST', '/api/tokens', { name: 'child', roles: ['viewer'], ...more }, short)).body
  t.match(await make(403, {}), { code: 'grants_too_much', detail: /own token expires at/ })
  t.equal((await make(403, { expires_at: at(601) })).code, 'grants_too_much')
  await make(201, { expires_at: at(500) })
  await s.expect(201, 'POST', '/api/runners', { id: 'r1', allowed_projects: [] }, short)
})

t.test('the last unrestricted admin token is revoked only with last_admin=true', async (t) => {
  const s = await startTestService(t)
  const idOf = async (name: string) =>
    (await s.expect(200, 'GET', '/api/tokens')).body.items.find((item: any) => item.name === name).id
  const admin = await idOf('admin')
  await s.project('greeter')
  // None of these counts: each lacks rights or projects, expires, or is revoked.
  await s.token('keeper', { rights: ['view', 'token.manage'] })
  await s.token('confined', { roles: ['admin'], projects: ['greeter'] })
  await s.token('soon', { roles: ['admin'], expires_at: new Date(Date.now() + 300).toISOString() })
  await s.token('gone', { roles: ['admin'] })
  await s.expect(204, 'DELETE', `/api/tokens/${await idOf('gone')}`)
  await until(
    () => s.expect(200, 'GET', '/api/tokens'),
    ({ body }) => body.items.some(({ state }: any) => state === 'expired'),
  )
  const refused = await s.expect(409, 'DELETE', `/api/tokens/${admin}`)
  t.match(refused.body, { code: 'last_admin_token', detail: new RegExp(admin), action: /last_admin=true/ })
  await s.expect(409, 'DELETE', `/api/tokens/${admin}?last_admin=false`)

  const token = await s.token('second', { roles: ['admin'] })
  const second = await idOf('second')
  // Both requests arrive in one turn, so neither sees the effect of the other.
  const revoke = (id: string, by: string) =>
    raw(s.service.port, [`DELETE /api/tokens/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${by}\r\n\r\n`])
  const answers = await Promise.all([revoke(second, s.admin), revoke(admin, token)])
  const revoked = answers.map((answer) => answer.startsWith('HTTP/1.1 204'))
  t.same(revoked.sort(), [false, true], 'of two admin tokens that revoke each other, one remains')
  const [left, id] = answers[0]!.startsWith('HTTP/1.1 204') ? [s.admin, admin] : [token, second]
  await s.expect(204, 'DELETE', `/api/tokens/${id}?last_admin=true`, undefined, { token: left })
  await s.expect(401, 'GET', '/api/tokens', undefined, { token: left })
})

t.test('a rotated runner token and its predecessor both give access, and a secret is shown only once', async (t) => {
  const s = await startTestService(t)
  const token = await s.runner('r1')
  const rotated = await s.expect(201, 'POST', '/api/runners/r1/token', {}, { token })
  t.ok(Date.parse(rotated.body.previous_expires_at) > Date.now() + 500_000)
  for (const one of [token, rotated.body.token]) {
    await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, { token: one })
  }
  const once = await s.expect(201, 'POST', '/api/runners/r1/token', {}, { token: rotated.body.token })
  t.ok(
    once.body.previous_expires_at > rotated.body.previous_expires_at,
    'the previous token is the one that was just replaced',
  )
  const headers = { 'idempotency-key': 'k' }
  const first = await s.expect(201, 'POST', '/api/runners', { id: 'r2' }, { headers })
  const made = await s.expect(201, 'POST', '/api/tokens', { name: 'x', roles: ['viewer'] })
  for (const secret of [rotated, once, first, made])
    t.equal(secret.headers.get('cache-control'), 'no-store', 'no cache may keep the secret')
  const replay = await s.expect(200, 'POST', '/api/runners', { id: 'r2' }, { headers })
  t.ok(first.body.token)
  t.notOk(replay.body.token)
  t.equal(
    (await s.expect(422, 'POST', '/api/runners', { id: 'r2', capacity: 2 }, { headers })).body.code,
    'idempotency_key_reused',
  )
  t.equal((await s.expect(409, 'POST', '/api/runners', { id: 'r2' })).body.code, 'already_exists')
  const all =
    JSON.stringify((await s.expect(200, 'GET', '/api/runners')).body) +
    JSON.stringify((await s.expect(200, 'GET', '/api/events')).body)
  t.notMatch(all, /itd_/)
  t.notMatch(all, /hash/)
})

t.test(
  'only a caller who may grant trust can rotate the token of a trusted runner or widen its projects',
  async (t) => {
    const s = await startTestService(t)
    await s.project('mine')
    await s.project('more')
    await s.runner('trusted', { allowed_projects: ['mine'], trusted: true })
    await s.runner('plain', { allowed_projects: ['mine'] })
    const operator = { token: await s.token('operator', { roles: ['operator'] }) }
    const rotated = await s.expect(403, 'POST', '/api/runners/trusted/token', {}, operator)
    t.equal(rotated.body.code, 'grants_too_much')
    const widened = await s.expect(
      403,
      'PATCH',
      '/api/runners/trusted',
      { allowed_projects: ['mine', 'more'] },
      operator,
    )
    t.equal(widened.body.code, 'grants_too_much')
    await s.expect(
      200,
      'PATCH',
      '/api/runners/trusted',
      { draining: true, capacity: 2, allowed_projects: [] },
      operator,
    )
    await s.expect(201, 'POST', '/api/runners/plain/token', {}, operator)
    await s.expect(200, 'PATCH', '/api/runners/trusted', { allowed_projects: ['more'], trusted: false }, operator)
    await s.expect(201, 'POST', '/api/runners/trusted/token', {}, operator)
    await s.runner('everywhere', { allowed_projects: ['*'], trusted: true })
    const narrowed = await s.expect(200, 'PATCH', '/api/runners/everywhere', { allowed_projects: ['mine'] }, operator)
    t.match(
      narrowed.body,
      { allowed_projects: ['mine'], trusted: true },
      'narrowing the projects of a trusted runner grants nothing',
    )
  },
)

t.test('a create that is repeated while the first is in progress gets the same answer', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  const creates: [path: string, body: object][] = [
    ['/api/projects', { key: 'new', name: 'New' }],
    ['/api/runners', { id: 'new' }],
    ['/api/tokens', { name: 'new', roles: ['viewer'] }],
    ['/api/projects/mine/formation-briefs', { mission: { objective: 'x' } }],
    ['/formation-briefs', { project: 'mine', mission: { objective: 'x' } }],
    ['/api/projects/mine/run-requests', { entry_event: 'x' }],
  ]
  for (const [path, body] of creates) {
    const headers = { 'idempotency-key': 'k' }
    const replies = await Promise.all([1, 2, 3].map(() => s.call('POST', path, body, { headers })))
    t.same(replies.map(({ status }) => status).sort(), [200, 200, 201], path)
    t.equal(new Set(replies.map((reply) => reply.body.id)).size, 1, path)
    for (const { status, headers: answered, body: shown } of replies) {
      t.equal(answered.get('idempotent-replay'), status === 200 ? 'true' : null, path)
      t.equal(status === 200 && 'token' in shown, false, 'the secret is shown once')
    }
  }
})
