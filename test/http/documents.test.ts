import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import t from 'tap'
import { examples } from '../../http/examples.ts'
import { codeOfRefusal, PROBLEM_CODES, problemDocument, problemTable } from '../../http/problems.ts'
import { startTestService } from './service-harness.ts'

/** Every `$ref` in a document, with where it points. */
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

t.test('the served documents hold together', async (t) => {
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
})

t.test(
  'every example satisfies the schema beside it, and every route that takes or answers JSON has one',
  async (t) => {
    const s = await startTestService(t)
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    formats.default(ajv)
    ajv.addSchema({ ...s.openApi, $id: 'openapi' })
    const used = new Set<string>()
    for (const [path, methods] of Object.entries<any>(s.openApi.paths)) {
      for (const [method, operation] of Object.entries<any>(methods)) {
        const key = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`
        used.add(key)
        const contents = [
          operation.requestBody?.content?.['application/json'],
          ...Object.values<any>(operation.responses).map((answer) => answer.content?.['application/json']),
        ]
        for (const content of contents) {
          if (content?.example === undefined) continue
          const schema = JSON.parse(JSON.stringify(content.schema).replaceAll('"#/', '"openapi#/'))
          const validate = ajv.compile(schema)
          t.ok(validate(content.example), `${key}: ${ajv.errorsText(validate.errors)}`)
        }
      }
    }
    for (const key of Object.keys(examples)) t.ok(used.has(key), `${key} is a route`)
  },
)

t.test('every refusal of a machine or of the runtime has its row in the problem table', (t) => {
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
  for (const code of codes) {
    const isKnown = (PROBLEM_CODES as readonly string[]).includes(code)
    const isWaitingCode = /^(not_before|lane_paused|repository_busy|no_|all_busy|draining|next)/.test(code)
    t.ok(isKnown || isWaitingCode, code)
  }
  t.equal(codeOfRefusal('unheard_of'), 'internal_error')
  t.end()
})

t.test('a problem says what RFC 9457 asks for, and its type leads to what it means', async (t) => {
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
