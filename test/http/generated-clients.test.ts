/**
 * The served documents as a generator of clients sees them: which schemas become named types, which shapes
 * TypeScript can tell apart, and which parameters a caller may leave out.
 */
import { resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import t from 'tap'
import { PROBLEM_CODES, problemDocument, problemTable } from '../../http/problems.ts'
import { catalogue } from '../../machines/events/index.ts'
import { documentedBy } from './documented.ts'
import { startTestService } from './service-harness.ts'

/** Absolute, because tap does not find it otherwise. */
t.snapshotFile = resolve('tap-snapshots/http/operations.cjs')

interface Place {
  readonly where: string
  readonly schema: any
}

/** Every schema in a value with its place, except in examples. */
function* schemasIn(value: any, where: string): Generator<Place> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield { where, schema: value }
  for (const [key, part] of Object.entries(value)) if (key !== 'example') yield* schemasIn(part, `${where}/${key}`)
}

interface Operation {
  readonly name: string
  readonly described: any
}

function operationsOf(openApi: any): Operation[] {
  return Object.entries<any>(openApi.paths).flatMap(([path, methods]) =>
    Object.entries<any>(methods).map(([method, described]) => ({ name: `${method} ${path}`, described })),
  )
}

/** A reference to a named schema, or a choice of such references. */
function isNamed(schema: any): boolean {
  const forms: any[] | undefined = schema.oneOf ?? schema.anyOf
  return forms === undefined ? schema.$ref !== undefined : forms.every(isNamed)
}

/** Their answer is a document without a schema of its own. */
const FREE = ['get /openapi.json', 'get /asyncapi.json']

t.test('every JSON request and answer of an operation has a named schema', async (t) => {
  const { openApi } = await startTestService(t)
  for (const { name, described } of operationsOf(openApi)) {
    if (FREE.includes(name)) continue
    const taken = described.requestBody?.content?.['application/json']?.schema
    const isUpload = Object.keys(described.requestBody?.content ?? {}).length > 1
    if (taken !== undefined && !isUpload) t.ok(isNamed(taken), `${name} takes ${JSON.stringify(taken).slice(0, 200)}`)
    for (const [status, { content = {} }] of Object.entries<any>(described.responses)) {
      const schema = content['application/json']?.schema
      if (schema !== undefined) t.ok(isNamed(schema), `${name} answers ${status}`)
    }
  }
})

t.test('every operation has a stable operationId that says what it does', async (t) => {
  const { openApi } = await startTestService(t)
  const operations = operationsOf(openApi)
  for (const { name, described } of operations) {
    const { operationId: id } = described
    t.match(id, /^[a-z]+([A-Z][a-z]*)+$/, name)
    t.notMatch(id, /^(get|post|put|patch|delete)|Api[A-Z]|By(Id|Name)/, `${name} is not named after its path`)
  }
  t.matchSnapshot(operations.map(({ name, described }) => `${described.operationId}  ${name}`).join('\n'), 'operations')
})

t.test('the name of a shared answer has a bounded length', async (t) => {
  const { openApi } = await startTestService(t)
  const names = Object.keys(openApi.components.responses)
  t.same(
    names.filter((name) => name.length > 100),
    [],
  )
  t.equal(names.filter((name) => /And\d+More$/.test(name)).length, 1)
  const answer = openApi.paths['/api/projects/{id}/run-requests'].post.responses[422]
  t.match(answer.$ref, /\/Problem422WholeIdempotencyKeyReused\w+And\dMore$/)
})

t.test('every object schema that occurs more than once is a named component', async (t) => {
  const s = await startTestService(t)
  const asyncApi = (await s.expect(200, 'GET', '/asyncapi.json')).body
  const seen = new Map<string, string>()
  for (const { where, schema } of schemasIn({ ...s.openApi.paths, ...s.openApi.components }, '')) {
    if (schema.type !== 'object' || Object.keys(schema.properties ?? {}).length < 2) continue
    const text = JSON.stringify(schema)
    t.notOk(seen.get(text), `${where} is also written at ${seen.get(text)}`)
    seen.set(text, where)
  }
  const envelopes = [...schemasIn(asyncApi, '')].filter(({ schema }) => schema.properties?.causation_id !== undefined)
  t.equal(envelopes.length, 1, 'the event envelope occurs once')
})

t.test('each problem that an operation may answer is in the type of its answer, by status and code', async (t) => {
  const { openApi } = await startTestService(t)
  const { responses } = openApi.components
  const used = new Set<string>()
  for (const { name, described } of operationsOf(openApi)) {
    for (const [status, answer] of Object.entries<any>(described.responses)) {
      if (Number(status) < 400) continue
      const shared = answer.$ref?.match(/^#\/components\/responses\/(\w+)$/)?.[1]
      t.ok(responses[shared], `${name}: ${status} is a shared answer`)
      used.add(shared)
      const { schema } = responses[shared].content['application/problem+json']
      t.equal(schema.properties.status.const, Number(status), name)
      for (const code of schema.properties.code.enum as (keyof typeof problemTable)[]) {
        t.equal(problemTable[code].status, Number(status), `${name}: ${code}`)
        t.ok(responses[shared].description.includes(`\`${code}\`: ${problemTable[code].title}.`), code)
      }
    }
  }
  t.same(Object.keys(responses).sort(), [...used].sort(), 'each shared answer is used')
  const texts = Object.values(responses).map((answer) => JSON.stringify(answer))
  t.equal(new Set(texts).size, texts.length, 'no two are equal')
  t.same(openApi.components.schemas.Problem.properties.code.enum, PROBLEM_CODES)
})

t.test('a member that the document does not describe is a fault in an answer or a problem', async (t) => {
  const { openApi } = await startTestService(t)
  const documented = documentedBy(JSON.stringify(openApi))
  const faultOf = (status: number, contentType: string, body: object) =>
    documented.faultOf({ method: 'GET', path: '/api/projects', status, contentType, body })
  const problem = { ...problemDocument('forbidden', 'd', '/api/projects') }
  t.equal(faultOf(200, 'application/json', { items: [] }), undefined)
  t.match(faultOf(200, 'application/json', { items: [], total: 0 }), /additional properties/)
  t.equal(faultOf(403, 'application/problem+json', problem), undefined)
  t.match(faultOf(403, 'application/problem+json', { ...problem, lacks: 'view' }), /additional properties/)
  t.match(faultOf(403, 'application/problem+json', { ...problem, code: 'stale_attempt' }), /allowed values/)
})

/** The value of a required member, if its schema permits only one. */
function tagOf(form: any, member: string): unknown {
  const { const: only, enum: values } = form.properties?.[member] ?? {}
  return form.required?.includes(member) ? (only ?? (values?.length === 1 ? values[0] : undefined)) : undefined
}

t.test('the forms of every union differ in the value of a required member', async (t) => {
  const s = await startTestService(t)
  const asyncApi = (await s.expect(200, 'GET', '/asyncapi.json')).body
  let unions = 0
  for (const document of [s.openApi, asyncApi]) {
    const resolved = (form: any): any =>
      form.$ref === undefined ? form : document.components.schemas[form.$ref.split('/').at(-1)]
    for (const { where, schema } of schemasIn(document.components.schemas, '')) {
      if (schema.oneOf === undefined) continue
      unions += 1
      const forms = schema.oneOf.map(resolved)
      if (where === '/KnownEvent') continue
      const members = Object.keys(forms[0].properties)
      const tags = members.filter((member) => {
        const values = forms.map((form: any) => tagOf(form, member))
        return !values.includes(undefined) && new Set(values).size === forms.length
      })
      t.not(tags.length, 0, where)
    }
  }
  t.ok(unions >= 3)
  const { KnownEvent, ...schemas } = asyncApi.components.schemas
  const types = KnownEvent.oneOf.map(({ $ref }: { $ref: string }) => $ref.split('/').at(-1)!)
  t.same(types, [...catalogue.keys()])
  for (const type of types) {
    const [envelope, own] = schemas[type].allOf
    t.same(envelope, { $ref: '#/components/schemas/Event' }, type)
    t.equal(own.properties.event_type.const, type)
  }
})

t.test(
  'events ingested from other engines are served in accordance with both documents, whatever their payloads',
  async (t) => {
    const s = await startTestService(t)
    await s.project('greeter')
    const trace = 'a'.repeat(32)
    const foreign = (n: number, more: object) => ({
      id: `evt_${n}`,
      occurred_at: '2026-01-31T12:00:00Z',
      project: 'greeter',
      ...more,
    })
    const ingested = await s.expect(200, 'POST', `/engine/traces/${trace}/ingest`, [
      foreign(1, { event_type: 'greeting_composed', payload: { greeting: 'Hello' } }),
      foreign(2, { event_type: 'greeting_composed', payload: { greeting: 7 }, of_another: true }),
      foreign(3, { event_type: 'task_run_completed', payload: {}, span_id: null }),
      foreign(4, { event_type: 'of_a_later_engine', payload: { anything: [null] } }),
    ])
    t.match(ingested.body, { accepted: 4, marked_count: 2 })
    const asyncApi = (await s.expect(200, 'GET', '/asyncapi.json')).body
    const ajv = formats.default(
      new Ajv2020({ strict: false, validateSchema: false }).addSchema({ ...asyncApi, $id: 'async' }),
    )
    const isA = (name: string, value: unknown) => ajv.validate({ $ref: `async#/components/schemas/${name}` }, value)
    // `expect` checks each answer against the OpenAPI document.
    const { items } = (await s.expect(200, 'GET', `/api/events?trace_id=${trace}&order=asc`)).body
    await s.expect(200, 'GET', '/api/events/evt_3')
    await s.expect(200, 'GET', `/api/traces/${trace}`)
    const frame = { type: 'events', cursor: 'c', events: items }
    t.ok(isA('EventsFrame', frame), JSON.stringify(ajv.errors))
    t.ok(isA('Frame', frame), JSON.stringify(ajv.errors))
    for (const one of items) t.ok(isA('ServedEvent', one), `${one.id}: ${JSON.stringify(ajv.errors)}`)
    const known = items.filter((one: unknown) => isA('KnownEvent', one)).map(({ id }: { id: string }) => id)
    const own = items.filter(({ event_type }: { event_type: string }) => event_type === 'trace_ingested')
    t.same(known, ['evt_1', ...own.map(({ id }: { id: string }) => id)])
    t.notOk(isA('ServedEvent', { ...items[0], occurred_at: undefined }))
  },
)

t.test(
  'if-match is a required header where its absence is answered 428, and no other header is required',
  async (t) => {
    const { openApi } = await startTestService(t)
    let required = 0
    for (const { name, described } of operationsOf(openApi)) {
      for (const parameter of described.parameters) {
        if (parameter.in !== 'header') continue
        const isNeeded = parameter.name === 'if-match' && described.responses[428] !== undefined
        t.equal(parameter.required, isNeeded, `${name} ${parameter.name}`)
        required += Number(isNeeded)
      }
    }
    t.ok(required > 0)
  },
)

t.test('in both documents times have a date-time format, and every object says what it may hold', async (t) => {
  const s = await startTestService(t)
  const asyncApi = (await s.expect(200, 'GET', '/asyncapi.json')).body
  for (const document of [s.openApi, asyncApi]) {
    for (const { where, schema } of schemasIn(document.components.schemas, '')) {
      // Other members, of any type, would be allowed beside those that match.
      t.notOk(schema.patternProperties, where)
      // Otherwise generators take it for an object without members.
      const isTold = schema.properties !== undefined || schema.additionalProperties !== undefined
      if (schema.type === 'object') t.ok(isTold, `${where} says what it may hold`)
      for (const [name, member] of Object.entries<any>(schema.properties ?? {})) {
        const isText = member?.type === 'string' || (Array.isArray(member?.type) && member.type.includes('string'))
        if (/(_at|^at|^since)$/.test(name) && isText) t.equal(member.format, 'date-time', `${where} ${name}`)
      }
    }
  }
})

t.test('every pattern means the same to generators that know neither Unicode properties nor the flag u', async (t) => {
  const s = await startTestService(t)
  const asyncApi = (await s.expect(200, 'GET', '/asyncapi.json')).body
  const patterns = new Set<string>()
  for (const { schema } of schemasIn([s.openApi, asyncApi], '')) {
    if (typeof schema.pattern === 'string') patterns.add(schema.pattern)
  }
  t.ok(patterns.size > 10)
  const texts = [
    'spring cleaning',
    'pCcs28{}',
    '\u00e9 \u{1f600}',
    'a\nb',
    'a\u001b[2J',
    'a\u0085b',
    'a\u2028b',
    'a\u2029b',
    '',
  ]
  for (const pattern of patterns) {
    const [plain, unicode] = [new RegExp(pattern), new RegExp(pattern, 'u')]
    for (const text of texts) t.equal(plain.test(text), unicode.test(text), `${pattern} on ${encodeURIComponent(text)}`)
    // A generator that writes the character itself into a literal would end its line.
    t.notMatch(pattern, /\\u(000[ad]|202[89])/i)
  }
})
