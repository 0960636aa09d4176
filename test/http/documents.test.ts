import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import t from 'tap'
import { examples } from '../../http/api-documents/examples.ts'
import { codeOfRefusal, PROBLEM_CODES, problemDocument, problemTable } from '../../http/problems.ts'
import { waitingBecause } from '../../machines/documents/waiting-because.ts'
import { catalogue } from '../../machines/events/index.ts'
import { startTestService } from './service-harness.ts'

/** The target of every `$ref` in a document. */
function references(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(references)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) =>
    key === '$ref' && typeof part === 'string' ? [part] : references(part),
  )
}

function pointed(document: any, reference: string): unknown {
  const steps = reference
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce((at, step) => at?.[step], document)
}

t.test('in both served documents every $ref resolves, and operation ids are unique', async (t) => {
  const s = await startTestService(t)
  const openApi = s.openApi
  const asyncApi = (await s.expect(200, 'GET', '/asyncapi.json')).body
  t.match(openApi.openapi, /^3\.1\./)
  t.match(asyncApi.asyncapi, /^3\./)
  for (const document of [openApi, asyncApi]) {
    for (const reference of new Set(references(document))) t.ok(pointed(document, reference) !== undefined, reference)
  }
  const ids = Object.values<any>(openApi.paths).flatMap((path) =>
    Object.values<any>(path).map(({ operationId }) => operationId),
  )
  t.equal(new Set(ids).size, ids.length, 'operation ids are unique')
  const stream = openApi.paths['/api/watch'].get.responses[200]
  t.same(Object.keys(stream.content), ['text/event-stream'], 'the event stream has its media type')
})

t.test('openapi.json documents next links, the oldest cursor, list orders and defaults', async (t) => {
  const { openApi } = await startTestService(t)
  const answerOf = (path: string) => openApi.paths[path].get.responses[200]
  const schemas = openApi.components.schemas
  for (const [path, { get }] of Object.entries<any>(openApi.paths)) {
    const schema = get?.responses[200]?.content?.['application/json']?.schema
    const members = schema?.properties ?? schemas[schema?.$ref?.split('/').pop()]?.properties
    if (members?.next_cursor !== undefined) t.match(answerOf(path).headers, { Link: {} }, path)
  }
  t.ok(schemas.Problem.properties.oldest)
  const listOf = (path: string) => schemas[answerOf(path).content['application/json'].schema.$ref.split('/').pop()]
  const orderOf = (path: string) => listOf(path).properties.items.description
  t.match(orderOf('/api/attention'), /^Most pressing first/)
  t.match(orderOf('/api/projects/{id}/drift'), /^Ordered by status/)
  t.equal(orderOf('/api/work-items'), 'Newest first.')
  for (const [field, value] of Object.entries({ throttle: 'dry_run', access: 'full', lane: 'interactive' }))
    t.ok(schemas.RunRequestCreate.properties[field].description.endsWith(`Default \`${value}\`.`), field)
})

t.test('each post of a runner documents the conflicts that it can meet, and no others', async (t) => {
  const { openApi } = await startTestService(t)
  const codesOf = (post: string, status: number): string[] => {
    const { $ref } = openApi.paths[`/api/run-requests/{id}/${post}`].post.responses[status]
    const answer = pointed(openApi, $ref) as any
    return answer.content['application/problem+json'].schema.properties.code.enum
  }
  for (const post of ['accepted', 'started', 'heartbeat', 'events', 'completed', 'failed', 'release']) {
    const conflicts = [
      'illegal_move',
      'stale_attempt',
      ...(/^(completed|failed)$/.test(post) ? ['result_conflict'] : []),
    ]
    t.strictSame(codesOf(post, 409), conflicts, post)
    t.equal(codesOf(post, 422).includes('engine_run_taken'), post === 'accepted' || post === 'started', post)
  }
})

t.test('openapi.json satisfies OpenAPI 3.1', async (t) => {
  const { openApi } = await startTestService(t)
  const ajv = new Ajv2020({ strict: false })
  const METHODS = new Set(['get', 'post', 'put', 'patch', 'delete'])
  const tags = new Set(openApi.tags.map(({ name }: { name: string }) => name))
  for (const { name, description } of openApi.tags) t.ok(description !== undefined && description !== name, name)
  t.ok(openApi.info.title && openApi.info.version && openApi.info.license.name)
  const schemas: [string, unknown][] = Object.entries(openApi.components.schemas)
  for (const name of Object.keys(openApi.components.schemas)) t.match(name, /^[A-Za-z0-9._-]+$/)
  const used = new Set<string>()
  for (const [path, item] of Object.entries<any>(openApi.paths)) {
    t.match(path, /^\/$|^(\/[a-zA-Z0-9._-]+|\/\{\w+\})+$/, path)
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    t.equal(new Set(inPath).size, inPath.length, path)
    for (const [method, operation] of Object.entries<any>(item)) {
      const where = `${method} ${path}`
      t.ok(METHODS.has(method), where)
      t.ok(tags.has(operation.tags[0]), where)
      t.ok(operation.summary, where)
      const parameters = operation.parameters as { name: string; in: string; required: boolean; schema: object }[]
      const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      t.equal(new Set(keys).size, keys.length, `${where}: parameters are unique`)
      t.same(
        parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
        inPath,
        where,
      )
      for (const parameter of parameters) {
        if (parameter.in !== 'header') t.equal(parameter.required, parameter.in === 'path', where)
        schemas.push([`${where} ${parameter.name}`, parameter.schema])
      }
      t.equal(operation.requestBody !== undefined && (method === 'get' || method === 'delete'), false, where)
      const contents: [string, any][] = Object.entries(operation.requestBody?.content ?? {})
      t.ok(
        Object.keys(operation.responses).some((status) => status.startsWith('2')),
        where,
      )
      for (const [status, answer] of Object.entries<any>(operation.responses)) {
        const response = answer.$ref === undefined ? answer : pointed(openApi, answer.$ref)
        t.match(status, /^[2-5]\d\d$/, where)
        t.type(response.description, 'string', `${where} ${status}`)
        contents.push(...Object.entries(response.content ?? {}))
        for (const header of Object.values<any>(response.headers ?? {})) schemas.push([where, header.schema])
        if (status === '204') t.equal(response.content, undefined, where)
      }
      for (const [type, { schema }] of contents) {
        t.match(type, /^[a-z]+\/[a-z+.-]+$/, where)
        if (schema !== undefined) schemas.push([`${where} ${type}`, schema])
      }
      for (const reference of references(operation)) used.add(reference)
    }
  }
  for (const one of references(openApi.components.responses)) used.add(one)
  for (const [where, schema] of schemas) t.ok(ajv.validateSchema(schema as object), `${where}: ${ajv.errorsText()}`)
  for (const [, schema] of Object.entries(openApi.components.schemas))
    for (const one of references(schema)) used.add(one)
  for (const name of Object.keys(openApi.components.schemas)) {
    t.ok(used.has(`#/components/schemas/${name}`), `${name} is used`)
  }
})

t.test('asyncapi.json satisfies AsyncAPI 3', async (t) => {
  const s = await startTestService(t)
  const { body } = await s.expect(200, 'GET', '/asyncapi.json', undefined, { token: null })
  const ajv = new Ajv2020({ strict: false })
  const { messages, schemas } = body.components
  t.same(Object.keys(messages).sort(), ['bookmark', 'error', 'events', 'hello'])
  for (const [name, { payload }] of Object.entries<any>(messages)) t.ok(ajv.validateSchema(payload), name)
  for (const [name, schema] of Object.entries<any>(schemas)) t.ok(ajv.validateSchema(schema), name)
  for (const name of catalogue.keys()) t.ok(schemas[name], name)
  const { watch } = body.operations
  t.equal(watch.action, 'send')
  const { query } = body.channels.watch.bindings.ws
  t.ok(ajv.validateSchema(query), 'the query of the WebSocket')
  const inQuery = s.openApi.paths['/api/watch'].get.parameters.filter((parameter: any) => parameter.in === 'query')
  t.ok(inQuery.length > 1)
  for (const { name, description, schema } of inQuery) t.strictSame(query.properties[name], { ...schema, description })
  t.equal(pointed(body, watch.channel.$ref), body.channels.watch)
  for (const { $ref } of watch.messages)
    t.ok((pointed(body, $ref) as { $ref: string }).$ref.startsWith('#/components/messages/'))
})

/** The endpoints that SPEC 4.1 and 4.2 name. */
const OF_THE_SPEC = [
  'GET /projects/{id}/intent-records',
  'POST /projects/{id}/intent-records',
  'POST /projects/{id}/discoveries',
  'GET /projects/{id}/hypotheses',
  'POST /hypotheses/{id}/accept',
  'POST /formation-briefs',
  'GET /formation-briefs/{id}',
  'POST /formation-briefs/{id}/compile-prompts',
  'POST /engine/traces/{trace_id}/ingest',
  'GET /projects/{id}/drift',
  'GET /api/projects/{id}/engine-capabilities',
  'POST /api/projects/{id}/engine-capabilities',
  'POST /api/projects/{id}/formation-briefs',
  'GET /api/formation-briefs/{id}',
  'GET /api/formation-briefs/{id}/compiled',
  'POST /api/projects/{id}/run-requests',
  'GET /api/runners/{runner_id}/run-requests/next',
  'POST /api/run-requests/{id}/accepted',
  'POST /api/run-requests/{id}/started',
  'POST /api/run-requests/{id}/events',
  'POST /api/run-requests/{id}/completed',
  'POST /api/run-requests/{id}/failed',
  'POST /api/engine-runs/{id}/trace-summary',
  'POST /api/engine-runs/{id}/evidence-observations',
]
/** They describe themselves. */
const WITHOUT_EXAMPLE = ['GET /openapi.json', 'GET /asyncapi.json']

t.test('openapi.json describes the request and the answer of every endpoint in SPEC 4', async (t) => {
  const { openApi } = await startTestService(t)
  for (const endpoint of OF_THE_SPEC) {
    const [method, path] = endpoint.split(' ') as [string, string]
    const operation = openApi.paths[path]?.[method.toLowerCase()]
    t.ok(operation, endpoint)
    if (method === 'POST')
      t.ok(operation.requestBody.content['application/json'].schema, `${endpoint} has a request schema`)
    const [, answer] = Object.entries<any>(operation.responses).find(([status]) => /^20[01]$/.test(status))!
    t.ok(answer.content['application/json'].schema, `${endpoint} has an answer schema`)
  }
})

t.test('every JSON request and answer has an example that satisfies its schema', async (t) => {
  const s = await startTestService(t)
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema({ ...s.openApi, $id: 'openapi' })
  const used = new Set<string>()
  for (const [path, methods] of Object.entries<any>(s.openApi.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries<any>(methods)) {
      const route = `${method.toUpperCase()} ${path}`
      used.add(route.replaceAll(/\{(\w+)\}/g, ':$1'))
      const taken = Object.entries<any>(requestBody?.content ?? {})
      const answered = Object.entries<any>(responses).flatMap(([status, { content = {} }]) =>
        status.startsWith('2') ? Object.entries<any>(content) : [],
      )
      for (const [type, { schema, example }] of [...taken, ...answered]) {
        if (!/json/.test(type) || WITHOUT_EXAMPLE.includes(route)) continue
        t.ok(example !== undefined, `${route} has an example of ${type}`)
        const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')))
        t.ok(validate(example), `${route}: ${ajv.errorsText(validate.errors)}`)
      }
    }
  }
  for (const key of Object.keys(examples)) t.ok(used.has(key), `${key} is a route`)
  const unfinished = s.openApi.paths['/api/backups'].post.responses[202].content['application/json'].example
  t.match(unfinished, { state: 'running', ended_at: undefined })
})

t.test('every refusal code of a machine or of the runtime is in the problem table', (t) => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const files = ['machines', 'runtime', 'storage'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.[jt]s$/.test(name))
      .map((name) => `${root}${folder}/${name}`),
  )
  const codes = new Set<string>()
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    for (const match of text.matchAll(/\{ code: '([a-z_]+)', detail/g)) codes.add(match[1]!)
    for (const match of text.matchAll(/(?:refused|unavailable)\(\s*'([a-z_]+)'/g)) codes.add(match[1]!)
  }
  t.ok(codes.size > 10)
  const waitingCodes = new Set<string>((waitingBecause.properties.code as { readonly enum?: string[] }).enum)
  for (const code of codes) {
    const isKnown = (PROBLEM_CODES as readonly string[]).includes(code)
    const isWaitingCode = waitingCodes.has(code)
    t.ok(isKnown || isWaitingCode, code)
  }
  t.equal(codeOfRefusal('unheard_of'), 'internal_error')
  t.end()
})

t.test('a problem has the members of RFC 9457, and its type URL serves its description', async (t) => {
  const s = await startTestService(t)
  for (const code of PROBLEM_CODES) {
    const { status, title } = problemTable[code]
    t.match(problemDocument(code, 'd', '/x'), {
      type: `/problems/${code}`,
      title,
      status,
      detail: 'd',
      instance: '/x',
      code,
    })
  }
  t.match((await s.expect(200, 'GET', '/problems/stale_attempt', undefined, { token: null })).body, {
    code: 'stale_attempt',
    status: 409,
  })
  t.equal((await s.expect(404, 'GET', '/problems/unheard', undefined, { token: null })).body.code, 'not_found')
})
