/**
 * The served documents as an independent tool sees them: Redocly's linter, with every finding an error. It reads no
 * file and no network, because the documents refer only to themselves.
 */
import { createConfig, lintFromString } from '@redocly/openapi-core'
import t from 'tap'
import { startTestService } from './service-harness.ts'

/** Examples are checked against the schemas as they are: closed objects say so themselves. */
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
      // The rule looks for the member beside `required`, not in the schema around the `if`.
      'no-required-schema-properties-undefined': 'off',
    },
  })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)
}

t.test('an independent linter finds no fault in openapi.json', async (t) => {
  const { openApi } = await startTestService(t)
  t.strictSame(await findingsOf(openApi), [])
})

t.test('an independent linter finds no fault in asyncapi.json', async (t) => {
  const s = await startTestService(t)
  t.strictSame(await findingsOf((await s.expect(200, 'GET', '/asyncapi.json')).body), [])
})

t.test('the linter does find each kind of planted fault', async (t) => {
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
