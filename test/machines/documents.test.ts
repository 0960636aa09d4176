import t from 'tap'
import * as compiledBrief from '../../machines/documents/compiled-brief.ts'
import * as discovery from '../../machines/documents/discovery.ts'
import * as drift from '../../machines/documents/drift.ts'
import * as engineCapability from '../../machines/documents/engine-capability.ts'
import * as engineRun from '../../machines/documents/engine-run.ts'
import * as executionRequest from '../../machines/documents/execution-request.ts'
import * as formationBrief from '../../machines/documents/formation-brief.ts'
import * as hypothesis from '../../machines/documents/hypothesis.ts'
import { ownerActionBody } from '../../machines/documents/initiative.ts'
import * as intentRecord from '../../machines/documents/intent-record.ts'
import * as observation from '../../machines/documents/observation.ts'
import * as project from '../../machines/documents/project.ts'
import * as runRequest from '../../machines/documents/run-request.ts'
import * as runner from '../../machines/documents/runner.ts'
import * as sentinel from '../../machines/documents/sentinel.ts'
import * as token from '../../machines/documents/token.ts'
import { compile, type TSchema } from '../../machines/schema.ts'

const files = {
  compiledBrief,
  discovery,
  drift,
  engineCapability,
  engineRun,
  executionRequest,
  formationBrief,
  hypothesis,
  intentRecord,
  observation,
  project,
  runRequest,
  runner,
  sentinel,
  token,
}

/** Every schema that the files export, by its name. */
const schemas = Object.values(files).flatMap((file) =>
  Object.entries(file).filter(
    // Members that several documents share are not schemas on their own.
    ([name, value]) => typeof value === 'object' && !Array.isArray(value) && !name.endsWith('Fields'),
  ),
) as unknown as readonly (readonly [string, TSchema & { additionalProperties?: boolean }])[]

/** Calls back for every subschema of type string or array, with its path. */
function bounds(schema: any, path: string, unbounded: string[]): void {
  if (typeof schema !== 'object' || schema === null) return
  const bound = schema.maxLength ?? schema.pattern ?? schema.enum ?? schema.const
  if (schema.type === 'string' && bound === undefined) unbounded.push(path)
  if (schema.type === 'array' && schema.maxItems === undefined) unbounded.push(path)
  for (const [key, value] of Object.entries(schema.properties ?? {})) bounds(value, `${path}.${key}`, unbounded)
  if (schema.items !== undefined) bounds(schema.items, `${path}[]`, unbounded)
}

t.test('every schema compiles', (t) => {
  for (const [name, schema] of schemas) t.doesNotThrow(() => compile(schema)(undefined), name)
  t.end()
})

t.test('request bodies are closed, and every string and array in them is bounded', (t) => {
  const bodies = schemas.filter(([name]) => name.endsWith('Body'))
  t.ok(bodies.length >= 18, 'none is missing')
  for (const [name, schema] of bodies) {
    t.equal(schema.additionalProperties, name === 'traceSummaryBody', name)
    const unbounded: string[] = []
    bounds(schema, name, unbounded)
    t.strictSame(
      unbounded.filter((path) => !path.startsWith('eventsBody.events[].')),
      [],
      name,
    )
  }
  t.end()
})

t.test('a create body is checked, with a pointer at what is wrong', (t) => {
  const check = compile(runRequest.runRequestCreateBody)
  const pointers = (body: object) =>
    check({ entry_event: 'execution_requested', ...body }).map(({ pointer }) => pointer)
  t.strictSame(pointers({}), [])
  t.strictSame(
    pointers({
      priority: 100,
      trace_id: 'a'.repeat(32),
      retry: { max_attempts: 2, on: ['execution'], backoff_seconds: 0 },
    }),
    [],
  )
  t.strictSame(pointers({ priority: 101 }), ['/priority'])
  t.strictSame(pointers({ priority: -101 }), ['/priority'])
  t.strictSame(pointers({ unknown: 1 }), ['/unknown'])
  t.strictSame(pointers({ trace_id: '0'.repeat(32) }), ['/trace_id'])
  t.strictSame(pointers({ labels: ['a', 'a'] }), ['/labels'])
  t.strictSame(pointers({ not_before: 'tomorrow' }), ['/not_before'])
  t.strictSame(
    check({}).map(({ pointer }) => pointer),
    ['/entry_event'],
  )
  t.end()
})

t.test('a project key is a slug, not the reserved one, and not shaped like an id', (t) => {
  const check = compile(project.projectCreateBody)
  for (const key of ['acme', 'a-b_c', '9lives']) t.strictSame(check({ key, name: 'x' }), [], key)
  for (const key of ['system', 'Acme', 'proj_1', '-a', '', 'a'.repeat(64)]) {
    t.equal(check({ key, name: 'x' })[0]?.pointer, '/key', key)
  }
  t.end()
})

t.test('a Run Result is open, with a closed status', (t) => {
  const check = compile(runRequest.completedBody)
  t.strictSame(check({ result: { anything: { at: 'all' }, status: 'completed_with_findings' } }), [])
  t.equal(check({ result: { status: 'fine' } })[0]?.pointer, '/result/status')
  t.equal(check({})[0]?.pointer, '/result')
  t.end()
})

t.test('the schema of an owner action says which members each action takes', (t) => {
  const member = { kind: 'project', ref: 'shop' }
  const pointers = (more: object) => compile(ownerActionBody)({ reason: 'x', ...more }).map(({ pointer }) => pointer)
  t.strictSame(pointers({ action: 'member_override', member, override: 'exclude' }), [])
  t.strictSame(pointers({ action: 'member_override' }).sort(), ['/member', '/override'])
  t.strictSame(pointers({ action: 'hold', member, lifted: true }), [])
  t.strictSame(pointers({ action: 'hold', override: 'exclude' }), ['/override'])
  t.strictSame(pointers({ action: 'milestone', lifted: false }), ['/lifted'])
  t.strictSame(pointers({ action: 'member_override', member, override: 'include', lifted: true }), ['/lifted'])
  t.end()
})
