/** A valid call, and the request made from it: unchanged, or with one or several mistakes. */
import type { Random } from '../random.ts'
import { brokenBytes, EVIL_NAMES, mutatedBody, written } from './mutations.ts'
import type { Operation } from './operations.ts'
import type { Request } from './request.ts'
import type { Caller, World } from './world.ts'

export interface Call {
  readonly operation: Operation
  readonly caller: Caller | undefined
  readonly params: readonly string[]
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

const JSON_TYPE = 'application/json'

/** The request without any mistake. */
export function requestOf(call: Call): Request {
  const { operation, caller, params, query, headers, body } = call
  let next = 0
  const path = operation.segments.map((one) => (one.startsWith('{') ? encodeURIComponent(params[next++]!) : one))
  const search = new URLSearchParams(query).toString()
  const list: [string, string][] = [['Host', 'fuzz']]
  if (caller !== undefined) list.push(['Authorization', `Bearer ${caller.token}`])
  if (operation.endlessType !== undefined) list.push(['Accept', operation.endlessType])
  for (const [name, value] of Object.entries(headers)) list.push([name, value])
  const request: Request = {
    method: operation.method,
    target: `/${path.join('/')}${search === '' ? '' : `?${search}`}`,
    headers: list,
    body: undefined,
    caller,
    operation: operation.name,
    mischief: new Set(),
  }
  if (body !== undefined) {
    list.push(['Content-Type', JSON_TYPE])
    request.body = Buffer.from(written(body))
    request.document = body
  }
  return request
}

/** The request with a mistake; `world` supplies ids and tokens of others. */
export function wrongRequestOf(call: Call, world: World, random: Random): Request {
  const isBodied = call.operation.body !== undefined
  const what = random.next()
  if (isBodied && what < 0.5) return wrongBody(call, random)
  if (call.operation.query.length > 0 && what < 0.65) return wrongQuery(call, world, random)
  if (call.params.length > 0 && what < 0.75) return wrongParam(call, world, random)
  if (what < 0.8) return wrongPath(requestOf(call), random)
  if (what < 0.9) return wrongToken(call, world, random)
  if (what < 0.97) return wrongHeader(requestOf(call), random)
  return oddFraming(requestOf(call), random)
}

function wrongBody(call: Call, random: Random): Request {
  const kind = random.next()
  if (kind < 0.75 && call.body !== undefined) {
    let body = mutatedBody(call.body, random)
    while (random.chance(0.2)) body = mutatedBody(body, random)
    const request = requestOf({ ...call, body })
    request.mischief.add('body')
    return request
  }
  const request = requestOf(call)
  request.mischief.add('body')
  request.document = undefined
  if (kind < 0.9) {
    request.body = brokenBytes(written(call.body ?? {}), random)
    return request
  }
  const types = [
    '',
    'text/plain',
    'application/json; charset=latin1',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/problem+json',
    'application/json;charset="UTF-8"',
    'APPLICATION/JSON',
    'application/json, text/plain',
    'application/jsonx',
  ]
  request.headers = request.headers.filter(([name]) => name !== 'Content-Type')
  if (random.chance(0.8)) request.headers.push(['Content-Type', random.pick(types)])
  if (random.chance(0.2)) request.headers.push(['Content-Encoding', random.pick(['gzip', 'br', 'identity', 'deflate'])])
  return request
}

const EVIL_QUERY_VALUES = [
  '',
  '0',
  '-1',
  '-0',
  '1e3',
  '501',
  '9007199254740993',
  '1.5',
  '0x10',
  '%205',
  '5%20',
  'NaN',
  'true',
  '%00',
  '%ff',
  '%C0%80',
  '%ED%A0%80',
  '%',
  '%zz',
  '%2525',
  ',',
  ',,',
  'a,b,',
  '*',
  '%E2%80%AE',
  'undefined',
  '[]',
  '%0d%0aX-Injected:%20yes',
  '__proto__',
  'latest',
  'earliest',
]

function wrongQuery(call: Call, world: World, random: Random): Request {
  const request = requestOf(call)
  request.mischief.add('query')
  const { name } = random.pick(call.operation.query)
  const value = wrongQueryValue(name, call, world, random)
  const pair = random.pick([
    `${name}=${value}`,
    `${name}=${value}`,
    `${name}=${value}&${name}=${value}`,
    `${encodeURIComponent(random.pick(EVIL_NAMES))}=${value}`,
    `${name}[]=${value}`,
    `${name}`,
    `=${value}`,
    '&&&',
    `${name.toUpperCase()}=${value}`,
    `x=${'y'.repeat(random.pick([10, 3_000]))}`,
  ])
  request.target += `${request.target.includes('?') ? '&' : '?'}${pair}`
  return request
}

function wrongQueryValue(name: string, { caller }: Call, world: World, random: Random): string {
  const kind = random.next()
  if (kind < 0.4) return random.pick(EVIL_QUERY_VALUES)
  if (kind < 0.5) return 'x'.repeat(random.pick([129, 600, 2_000]))
  if (kind < 0.55) return encodeURIComponent('\u{1f600}'.repeat(random.pick([10, 128, 400])))
  if (name === 'cursor' || name === 'since') return wrongCursor(random)
  const tenant = caller?.tenant ?? world.tenants[0]!
  const known = tenant.pool.any(random)
  return encodeURIComponent(String(known ?? 'x'))
}

/** Cursors of lists are base64url of JSON: these are some that can be parsed but contain something else. */
function wrongCursor(random: Random): string {
  const value = random.pick<unknown>([
    [],
    ['', ''],
    ['\u0000', '\u0000'],
    ['~'.repeat(300), 'x'],
    ['\ud800', '\udfff'],
    [1, 2],
    ['a', null],
    { order: 'a', id: 'b' },
    ['9'.repeat(100), 'runreq_000000000000000000000000'],
    ['unapproved|x', 'y'],
    ['__proto__|', ''],
    [['a'], ['b']],
    'text',
    null,
  ])
  return random.pick([
    Buffer.from(JSON.stringify(value)).toString('base64url'),
    'AAAA',
    '....',
    'k3x9q2m4v7a1.2f',
    'k.-1',
    'k.zzzzzzzzzzzzzzzz',
    '.',
  ])
}

const EVIL_SEGMENTS = [
  '',
  '.',
  '..',
  '%2e%2e',
  '%2e%2e%2fetc',
  '%2F',
  'a%2Fb',
  '%00',
  'x%00y',
  '%ff',
  '%C0%AF',
  '%',
  '%z',
  '%ED%A0%80',
  '*',
  '~',
  ';x=1',
  'a;b',
  '%20',
  '%09',
  '%0d%0aX-Injected:%20yes',
  '%25',
  '__proto__',
  'constructor',
  'toString',
  'undefined',
  'null',
  '-1',
  '0',
  '{id}',
  ':id',
  'system',
  '%F0%9F%98%80',
  '\xff\xfe',
  'proj_',
  'runreq_zzzzzzzzzzzzzzzzzzzzzzzz',
  'a'.repeat(300),
  'a'.repeat(4_000),
  '%61'.repeat(1_000),
  '%F0%9F%98%80'.repeat(300),
]

function wrongParam(call: Call, world: World, random: Random): Request {
  const request = requestOf(call)
  request.mischief.add('path')
  const [path = '', search] = request.target.split('?')
  const segments = path.split('/')
  const places = call.operation.segments.flatMap((one, at) => (one.startsWith('{') ? [at + 1] : []))
  const known = (call.caller?.tenant ?? world.tenants[0]!).pool.any(random)
  const isOther = known !== undefined && random.chance(0.3)
  segments[random.pick(places)] = isOther ? encodeURIComponent(String(known)) : random.pick(EVIL_SEGMENTS)
  request.target = segments.join('/') + (search === undefined ? '' : `?${search}`)
  return request
}

function wrongPath(request: Request, random: Random): Request {
  const { target } = request
  request.mischief.add('path')
  const changed = random.pick([
    () => `${target.split('?')[0]}/`,
    () => `/${target}`,
    () => target.replace('/api/', '/API/'),
    () => target.replace('/api/', '/api//'),
    () => target.replace('/api/', '/api/../api/'),
    () => target.replace('/api/', '/%61pi/'),
    () => target.replace('/api/', '/api/./'),
    () => target.replace(/^\/(api\/)?/, '/v1/'),
    () => `${target}${'?'.repeat(3)}`,
    () => `${target}#fragment`,
    () => `/${'a/'.repeat(200)}`,
    () => `/${'x'.repeat(random.pick([100, 3_000]))}`,
    () => target.replaceAll('/', '%2f').replace('%2f', '/'),
    () => '/',
    () => '/favicon.ico',
    () => '/.git/config',
    () => '/\xe2\x98\x83',
  ])
  request.target = changed()
  if (random.chance(0.3)) {
    request.method = random.pick(['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'get', 'QUERY'])
    request.mischief.add('method')
  }
  return request
}

function wrongToken(call: Call, world: World, random: Random): Request {
  const others = [...world.callers, ...world.strays]
  const other = random.pick(others)
  if (random.chance(0.5)) {
    const request = requestOf({ ...call, caller: other })
    // If the other caller is admitted, the text is its own.
    if (request.body !== undefined && other.tenant !== call.caller?.tenant) world.share(request.body.toString())
    request.mischief.add('token')
    return request
  }
  const request = requestOf({ ...call, caller: undefined })
  request.mischief.add('token')
  const value = random.pick([
    'Bearer',
    'Bearer ',
    'Bearer  ',
    `bearer ${other.token.toLowerCase()}`,
    `Bearer ${other.token.slice(0, -1)}`,
    `Bearer ${other.token}x`,
    `Bearer ${'a'.repeat(600)}`,
    'Bearer itd_',
    `Bearer itd_${random.hex(43)}`,
    `Bearer irt_${random.hex(24)}_1_1767225600000_${random.hex(43)}`,
    `Basic ${Buffer.from('admin:admin').toString('base64')}`,
    'Bearer undefined',
    'Bearer __proto__',
    'Digest x="y"',
  ])
  if (random.chance(0.85)) request.headers.push(['Authorization', value])
  if (random.chance(0.1)) request.headers.push(['Authorization', 'Bearer another'])
  return request
}

function wrongHeader(request: Request, random: Random): Request {
  request.mischief.add('header')
  const header = random.pick<[string, string]>([
    ['Accept', 'text/html'],
    ['Accept', '*/*;q=0'],
    ['Accept', `${'a/b,'.repeat(300)}*/*`],
    ['Accept', ';;;,,,'],
    ['API-Version', '2'],
    ['API-Version', '1, 1'],
    ['API-Version', 'x'.repeat(500)],
    ['Idempotency-Key', 'x'.repeat(300)],
    ['Idempotency-Key', '"'],
    ['Idempotency-Key', '\xff'],
    ['Idempotency-Key', '  '],
    ['Idempotency-Key', 'same'],
    ['traceparent', '00-00000000000000000000000000000000-0000000000000000-00'],
    ['traceparent', 'x'.repeat(1_000)],
    ['traceparent', `00-${random.hex(32)}-${random.hex(16)}-01`],
    ['Last-Event-ID', 'x'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Forwarded-For', '1.2.3.4'],
    ['X-Original-URL', '/metrics'],
    ['Cookie', 'a=b'],
    ['Range', 'bytes=0-10'],
    ['If-Match', '"x"'],
    ['If-None-Match', '*'],
    ['Origin', 'https://evil.example'],
    ['X-Empty', ''],
    ['X-Large', 'a'.repeat(random.pick([1_000, 8_000, 17_000]))],
    ['Host', 'another'],
    ['constructor', 'x'],
    ['Upgrade', 'h2c'],
    ['Connection', 'keep-alive'],
  ])
  if (header[0] === 'Host') request.headers = request.headers.filter(([name]) => name !== 'Host')
  request.headers.push(header)
  for (let n = random.chance(0.1) ? 50 : 0; n > 0; n--) request.headers.push([`X-Many-${n}`, 'v'])
  return request
}

/** Valid, but segmented and framed as few clients do. */
function oddFraming(request: Request, random: Random): Request {
  if (request.body !== undefined && random.chance(0.5)) request.chunkBytes = random.pick([1, 7, 100, 5_000])
  request.segments = random.pick([2, 3, 10])
  if (request.chunkBytes === 1 && request.body!.length > 2_000) request.chunkBytes = 100
  return request
}
