/**
 * The served documents in the eyes of somebody else: Redocly's linter, which knows nothing of how they are made. Each finding is an
 * error here. It reads no file and no network: the documents refer to themselves alone.
 */
import { createConfig, lintFromString } from '@redocly/openapi-core'
import t from 'tap'
import { startTestService } from './service-harness.ts'

/** Examples are held against their schemas as they stand: closed objects say themselves that they are closed. */
const AS_THE_SCHEMA_SAYS = { severity: 'error', allowAdditionalProperties: true } as const

async function findingsOf(document: unknown): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'no-invalid-media-type-examples': AS_THE_SCHEMA_SAYS,
      'no-invalid-parameter-examples': AS_THE_SCHEMA_SAYS,
      'no-invalid-schema-examples': AS_THE_SCHEMA_SAYS,
      'no-ambiguous-paths': 'error',
      'no-identical-paths': 'error',
      'no-unused-components': 'error',
      'operation-operationId': 'error',
      'operation-operationId-unique': 'error',
      'operation-parameters-unique': 'error',
      'parameter-description': 'error',
      'paths-kebab-case': 'error',
      'tag-description': 'error',
      // It looks for the member beside `required`, and not in the schema that an `if` stands in.
      'no-required-schema-properties-undefined': 'off',
    },
  })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)
}

t.test('an independent linter finds nothing to say of openapi.json', async (t) => {
  const { openApi } = await startTestService(t)
  t.strictSame(await findingsOf(openApi), [])
})

t.test('nor of asyncapi.json', async (t) => {
  const s = await startTestService(t)
  t.strictSame(await findingsOf((await s.expect(200, 'GET', '/asyncapi.json')).body), [])
})

t.test('it would: each kind of fault is found', async (t) => {
  const { openApi } = await startTestService(t)
  const faults: [rule: string, plant: (document: any) => void][] = [
    ['no-unresolved-refs', (document) => delete document.components.schemas.Problem],
    [
      'no-invalid-media-type-examples',
      ({ paths }) => {
        paths['/formation-briefs'].post.requestBody.content['application/json'].example.mission = 7
      },
    ],
    [
      'operation-operationId-unique',
      ({ paths }) => {
        paths['/projects/{id}/drift'].get.operationId = paths['/hypotheses/{id}/accept'].post.operationId
      },
    ],
    ['path-parameters-defined', ({ paths }) => paths['/projects/{id}/drift'].get.parameters.shift()],
    [
      'no-identical-paths',
      ({ paths }) => {
        paths['/projects/{other}/drift'] = structuredClone(paths['/projects/{id}/drift'])
      },
    ],
    [
      'struct',
      ({ paths }) => {
        paths['/projects/{id}/drift'].get.responses[200].content['application/json'].schema = { type: 'thing' }
      },
    ],
  ]
  for (const [rule, plant] of faults) {
    const document = structuredClone(openApi)
    plant(document)
    const found = await findingsOf(document)
    t.ok(
      found.some((finding) => finding.startsWith(`${rule}: `)),
      `${rule}: ${found.slice(0, 3).join('\n')}`,
    )
  }
})
