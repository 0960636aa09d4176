/**
 * Attacks on tokens: guessed, sent twice, sent in the wrong place, used beyond their rights. Only the complete secret
 * in the one header for it lets anybody in, and nobody can grant more than they have.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { RIGHTS, ROLES } from '../../machines/rights.ts'
import { rightsOf } from '../../runtime/access/rights.ts'
import { underWay } from '../http/run-token-harness.ts'
import { raw, startTestService, type TestService } from '../http/service-harness.ts'
import { Random } from '../random.ts'
import { Connection } from './connection.ts'

const guess = (): string => `itd_${randomBytes(32).toString('base64url')}`

/** Statuses of GET /api/projects with each of these Authorization headers, over one connection. */
async function statusesOf(port: number, headers: readonly string[]): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  let connection = await Connection.open(port)
  for (const header of headers) {
    if (!connection.isOpen) connection = await Connection.open(port)
    const request = Buffer.from(`GET /api/projects HTTP/1.1\r\nHost: x\r\n${header}\r\n`, 'latin1')
    const outcome = await connection.ask([request], { isHead: false, timeoutMs: 10_000 })
    const status = outcome.kind === 'answer' ? outcome.status : 0
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  connection.close()
  return statuses
}

t.test(
  'guessed, nearly right and differently presented tokens are answered 401, and the valid one still works',
  async (t) => {
    const s = await startTestService(t)
    const { port } = s.service
    const { admin } = s
    const bearer = (token: string): string => `Authorization: Bearer ${token}\r\n`
    const near: string[] = [
      admin.slice(0, -1),
      `${admin}A`,
      admin.toLowerCase(),
      admin.toUpperCase(),
      admin.slice(4),
      ` ${admin} x`,
      `"${admin}"`,
      `${admin},`,
      `${admin}=`,
    ]
    for (let i = 0; i < admin.length; i++) {
      const other = admin[i] === 'A' ? 'B' : 'A'
      near.push(admin.slice(0, i) + other + admin.slice(i + 1))
    }
    t.same([...(await statusesOf(port, near.map(bearer)))], [[401, near.length]], 'nearly right tokens')
    t.same(
      [
        ...(await statusesOf(
          port,
          Array.from({ length: 5_000 }, () => bearer(guess())),
        )),
      ],
      [[401, 5_000]],
    )
    const forms = [
      `Authorization: ${admin}\r\n`,
      `Authorization: Basic ${Buffer.from(`x:${admin}`).toString('base64')}\r\n`,
      `Authorization: Token ${admin}\r\n`,
      `Authorization: Bearer\t${admin}\r\n`,
      `Authorization: Bearer ${guess()}, Bearer ${admin}\r\n`,
      `Authorization: Bearer ${admin}, Bearer ${guess()}\r\n`,
      `Proxy-Authorization: Bearer ${admin}\r\n`,
      `Cookie: token=${admin}\r\n`,
      `X-Api-Key: ${admin}\r\n`,
      `Sec-WebSocket-Protocol: bearer.${admin}\r\n`,
      `Authorization: Bearer ${'a'.repeat(10_000)}\r\n`,
      'Authorization: Bearer \xff\xfe\r\n',
      'Authorization:\r\n',
    ]
    t.same([...(await statusesOf(port, forms))], [[401, forms.length]], 'the valid token in another form or header')
    t.same(
      [
        ...(await statusesOf(port, [
          bearer(admin),
          `authorization: bearer ${admin}\r\n`,
          `AUTHORIZATION:   Bearer   ${admin}  \r\n`,
        ])),
      ],
      [[200, 3]],
    )
    t.match((await s.call('GET', '/metrics')).body, /intendant_tokens_active 1\n/)
  },
)

t.test('forged tokens of runs are answered 401, whichever run, attempt and proof they state', async (t) => {
  const { s, token } = await underWay(t)
  const { port } = s.service
  const bearer = (text: string): string => `Authorization: Bearer ${text}\r\n`
  const proofAt = token.length - 43
  const forged: string[] = [`${token}=`, `itd_${token.slice(4)}`, token.slice(4), token.replace('_1_', '_-1_')]
  for (let i = 0; i < token.length; i++) {
    for (const other of ['A', '_', '0'])
      if (token[i] !== other) forged.push(`${token.slice(0, i)}${other}${token.slice(i + 1)}`)
    forged.push(token.slice(0, i), `${token.slice(0, i)}${token.slice(i + 1)}`)
  }
  for (let n = 0; n < 3_000; n++) {
    const proof = randomBytes(32).toString('base64url')
    forged.push(
      `${token.slice(0, proofAt)}${proof}`,
      `irt_${randomBytes(12).toString('hex')}_${n}_${Date.now()}_${proof}`,
    )
  }
  for (const attempt of ['0', '00', '1e0', '+1', '1.0', '2', '999999999', '99999999999999999999', 'NaN', ''])
    forged.push(token.replace('_1_', `_${attempt}_`))
  t.same([...(await statusesOf(port, forged.map(bearer)))], [[401, forged.length]])
  t.same([...(await statusesOf(port, [bearer(token)]))], [[200, 1]])
})

t.test('two Authorization headers let nobody in, whichever comes first', async (t) => {
  const s = await startTestService(t)
  const good = `Authorization: Bearer ${s.admin}\r\n`
  const bad = `Authorization: Bearer ${guess()}\r\n`
  for (const headers of [good + bad, bad + good, good + good, `${good}X-Between: 1\r\n${bad}`]) {
    const answer = await raw(s.service.port, [
      `GET /api/projects HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`,
    ])
    t.match(answer, /^HTTP\/1\.1 401/)
    t.match(answer, /More than one Authorization header/)
  }
})

t.test('a token in the query is refused, even beside a valid header, and not repeated in the answer', async (t) => {
  const s = await startTestService(t)
  await s.project('p')
  for (const name of ['token', 'access_token', 'api_key', 'authorization', 'bearer']) {
    const alone = await s.call('GET', `/api/projects?${name}=${s.admin}`, undefined, { token: null })
    t.equal(alone.status, 401, name)
    const beside = await s.call('GET', `/api/projects?${name}=${s.admin}`)
    t.match(beside, { status: 400, body: { code: 'invalid_query' } }, name)
    for (const { body } of [alone, beside]) t.notOk(JSON.stringify(body).includes(s.admin), name)
  }
})

t.test(
  'a token that was revoked, has expired or whose runner was removed is refused on a connection that used it',
  async (t) => {
    const s = await startTestService(t)
    await s.project('p')
    const made = (await s.expect(201, 'POST', '/api/tokens', { name: 'gone', roles: ['viewer'] })).body
    const soon = new Date(Date.now() + 700).toISOString()
    const short = (await s.expect(201, 'POST', '/api/tokens', { name: 'short', roles: ['viewer'], expires_at: soon }))
      .body
    const runner = await s.runner('r1')
    const ask = async (connection: Connection, path: string, token: string): Promise<number> => {
      const request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      const outcome = await connection.ask([request], { isHead: false, timeoutMs: 10_000 })
      return outcome.kind === 'answer' ? outcome.status : 0
    }
    const connection = await Connection.open(s.service.port)
    t.equal(await ask(connection, '/api/projects', made.token), 200)
    t.equal(await ask(connection, '/api/projects', short.token), 200)
    t.equal(await ask(connection, '/api/runners/r1', runner), 200)
    await s.expect(204, 'DELETE', `/api/tokens/${made.id}`)
    t.equal(await ask(connection, '/api/projects', made.token), 401, 'revoked')
    const rotated = (await s.expect(201, 'POST', '/api/runners/r1/token', {})).body
    t.equal(await ask(connection, '/api/runners/r1', runner), 200, 'rotated: the old one is valid for ten more minutes')
    t.equal(await ask(connection, '/api/runners/r1', rotated.token), 200)
    const again = (await s.expect(201, 'POST', '/api/runners/r1/token', {}, { token: rotated.token })).body
    await s.expect(204, 'DELETE', '/api/runners/r1')
    for (const token of [rotated.token, again.token])
      t.equal(await ask(connection, '/api/runners/r1', token), 401, 'its runner was removed')
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, Date.parse(soon) - Date.now() + 20)))
    t.equal(await ask(connection, '/api/projects', short.token), 401, 'expired')
    connection.close()
  },
)

interface Grants {
  readonly roles: string[]
  readonly rights: string[]
  readonly projects: string[]
}

function someGrants(random: Random): Grants {
  const some = <T>(list: readonly T[], chance: number): T[] => list.filter(() => random.chance(chance))
  return {
    roles: some(ROLES, 0.2),
    rights: some(RIGHTS, 0.2),
    projects: random.pick([['a'], ['b'], ['a', 'b'], ['*'], []]),
  }
}

/** Whether one may grant the other: an independent, plain statement of the rule. */
function isWithin(granted: Grants, held: Grants): boolean {
  const rights = rightsOf(held.roles, held.rights)
  if ([...rightsOf(granted.roles, granted.rights)].some((right) => !rights.has(right))) return false
  if (held.projects.includes('*')) return true
  return granted.projects.every((key) => held.projects.includes(key))
}

async function make(s: TestService, grants: Grants, token?: string) {
  return s.call('POST', '/api/tokens', { name: 'made', ...grants }, token === undefined ? {} : { token })
}

t.test('no mixture of roles, rights and projects lets a token grant more than it has', async (t) => {
  const s = await startTestService(t)
  await s.project('a')
  await s.project('b')
  const random = new Random(20_261)
  let granted = 0
  let refused = 0
  for (let n = 0; n < 30; n++) {
    const held = { ...someGrants(random), projects: random.pick([['a'], ['b'], ['a', 'b'], ['*']]) }
    held.rights = [...new Set([...held.rights, 'token.manage'])]
    const granter = (await make(s, held)).body
    for (let tries = 0; tries < 15; tries++) {
      const wanted = someGrants(random)
      if (wanted.roles.length + wanted.rights.length === 0) continue
      const { status, body } = await make(s, wanted, granter.token)
      const told = JSON.stringify({ held, wanted, body })
      if (isWithin(wanted, held)) {
        t.equal(status, 201, told)
        granted++
        continue
      }
      t.match({ status, code: body.code }, { status: 403, code: 'grants_too_much' }, told)
      refused++
    }
    // A token that was granted can grant no more than its creator could.
    const child = await make(s, { roles: [], rights: ['token.manage'], projects: held.projects }, granter.token)
    t.equal(child.status, 201)
    t.equal((await make(s, { roles: ['admin'], rights: [], projects: ['*'] }, child.body.token)).status, 403)
  }
  t.ok(granted > 20 && refused > 100, `${granted} granted, ${refused} refused`)
})

t.test(
  'an operator gains no access through runners, and operations that are not for runners refuse them',
  async (t) => {
    const s = await startTestService(t)
    await s.project('a')
    await s.project('b')
    const operator = { token: await s.token('operator', { roles: ['operator'], projects: ['a'] }) }
    const wide = [
      { trusted: true },
      { allowed_projects: ['b'] },
      { allowed_projects: ['*'] },
      { allowed_projects: ['a', 'b'] },
    ]
    for (const [n, grants] of wide.entries()) {
      const made = await s.call('POST', '/api/runners', { id: `r${n}`, allowed_projects: ['a'], ...grants }, operator)
      t.match(made, { status: 403, body: { code: 'grants_too_much' } }, JSON.stringify(grants))
    }
    await s.expect(201, 'POST', '/api/runners', { id: 'mine', allowed_projects: ['a'] }, operator)
    for (const grants of wide) {
      const changed = await s.call('PATCH', '/api/runners/mine', grants, operator)
      t.match(changed, { status: 403, body: { code: 'grants_too_much' } }, JSON.stringify(grants))
    }
    await s.expect(201, 'POST', '/api/runners', { id: 'theirs', allowed_projects: ['a', 'b'], trusted: true })
    for (const [method, path] of [
      ['POST', '/api/runners/theirs/token'],
      ['PATCH', '/api/runners/theirs'],
      ['DELETE', '/api/runners/theirs'],
    ] as const) {
      const body = method === 'DELETE' ? undefined : method === 'PATCH' ? { draining: true } : {}
      const refused = await s.call(method, path, body, operator)
      t.equal(refused.status, 403, `${method} ${path}`)
    }
    const runner = { token: await s.runner('r') }
    for (const path of Object.keys(s.openApi.paths)) {
      for (const [method, operation] of Object.entries<any>(s.openApi.paths[path])) {
        if (
          operation['x-right'] === 'none' ||
          operation['x-right'] === 'any' ||
          operation['x-runner'] !== undefined ||
          operation['x-right'] === 'runner'
        )
          continue
        const filled = path.replaceAll(/\{\w+\}/g, 'nothing')
        const body = operation.requestBody === undefined ? undefined : {}
        const { status } = await s.call(method.toUpperCase(), filled, body, runner)
        t.equal(status, 403, `${method} ${path} with a runner's token`)
      }
    }
  },
)

t.test('a rotated runner token can be rotated again only until its successor was used', async (t) => {
  const s = await startTestService(t)
  const stolen = { token: await s.runner('r1') }
  const rotate = (as?: { token: string }) => s.call('POST', '/api/runners/r1/token', {}, as)
  t.equal((await rotate(stolen)).status, 201, 'the client loses the answer')
  const second = await rotate(stolen)
  t.equal(second.status, 201, 'so it rotates again')
  await s.expect(200, 'GET', '/api/runners/r1', undefined, { token: second.body.token })
  t.match(await rotate(stolen), { status: 403, body: { code: 'forbidden' } }, 'the successor was used')
  t.equal((await rotate({ token: second.body.token })).status, 201)
  t.equal((await rotate()).status, 201, 'an admin can always rotate it')
})
