/** The catalogue against SPEC section 6 as facts: what every type carries, in both directions. */
import t from 'tap'
import { catalogue, eventTypes, validatePayload } from '../../../machines/events/index.ts'
import { defaultOf, pointerOf, put, type Row, remove, sample, sampleWith, table } from './samples.ts'

const POOL: ReadonlyArray<readonly [kind: string, value: unknown]> = [
  ['string', 'x'],
  ['number', 7],
  ['bool', true],
  ['null', null],
  ['object', {}],
  ['array', []],
]

const KIND: Readonly<Record<string, string>> = {
  string: 'string',
  timestamp: 'string',
  bool: 'bool',
  count: 'number',
  integer: 'number',
  number: 'number',
  object: 'object',
  array: 'array',
  strings: 'array',
}

const ALSO_WRONG: Readonly<Record<string, readonly unknown[]>> = {
  count: [-1, 1.5, '1'],
  integer: [1.5, '1'],
  number: ['1'],
  timestamp: ['yesterday', '2026-01-31', '2026-01-31 12:00:00Z', '2026-02-30T12:00:00Z', '2026-01-31T12:00:00'],
  strings: [[7], ['x', null]],
  array: [['x'], [7]],
  bool: ['true', 0],
}

/** Whether anything at or below the path was refused. */
function refuses(type: string, payload: unknown, path: string): boolean {
  const pointer = pointerOf(path)
  return validatePayload(type, payload).some(
    (fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`),
  )
}

/** Names of checks that failed: one assertion per type instead of thousands. */
function problemsOf(type: string, rows: readonly Row[]): string[] {
  const problems: string[] = []
  const expect = (holds: boolean, what: string) => {
    if (!holds) problems.push(what)
  }
  expect(validatePayload(type, sample(type)).length === 0, 'the smallest payload is taken')
  expect(validatePayload(type, { ...sample(type), not_in_the_table: [1] }).length === 0, 'unknown members pass')
  expect(validatePayload(type, 'x').length > 0 && validatePayload(type, []).length > 0, 'a payload is an object')
  for (const row of rows) {
    const there = sampleWith(type, row)
    expect(validatePayload(type, there).length === 0, `${row.path} is taken`)
    const absent = structuredClone(there)
    remove(absent, row.path)
    if (row.presence === 'yes') expect(refuses(type, absent, row.path), `${row.path} is required`)
    if (row.presence === 'no') expect(validatePayload(type, absent).length === 0, `${row.path} is optional`)
    for (const wrong of wrongValues(row)) {
      const payload = structuredClone(there)
      put(payload, row.path, wrong)
      expect(refuses(type, payload, row.path), `${row.path} is not ${JSON.stringify(wrong)}`)
    }
    for (const value of rightValues(row)) {
      const payload = sampleWith(type, row, value)
      expect(validatePayload(type, payload).length === 0, `${row.path} may be ${JSON.stringify(value)}`)
    }
    problems.push(...conditionProblems(type, rows, row))
  }
  return problems
}

function wrongValues(row: Row): unknown[] {
  const [type, ...orNull] = row.type.split(' or ')
  const kinds = [KIND[type!]!, ...orNull]
  const foreign = POOL.filter(([kind]) => !kinds.includes(kind)).map(([, value]) => value)
  const outside = row.values.length === 0 ? [] : ['not_a_value', '', `${row.values[0]} `, row.values[0]!.toUpperCase()]
  const enumerated = row.type === 'strings' ? outside.map((value) => [value]) : outside
  return [...foreign, ...enumerated, ...(ALSO_WRONG[type!] ?? [])]
}

function rightValues(row: Row): unknown[] {
  if (row.type === 'bool') return [true, false]
  if (row.type.endsWith(' or null')) return [defaultOf(row), null]
  if (row.type === 'strings') return row.values.map((value) => [value])
  if (row.type === 'timestamp') return ['2026-01-31T12:00:00Z', '2026-01-31t12:00:00.5+02:00']
  return [...row.values]
}

/** A field that depends on another one, with every value that the other may have. */
function conditionProblems(type: string, rows: readonly Row[], row: Row): string[] {
  if (row.condition === undefined) return []
  const { field, values } = row.condition
  const problems: string[] = []
  for (const value of rightValues(rows.find(({ path }) => path === field)!)) {
    const holds = values.includes(value)
    const payload = sample(type, { [field]: value })
    if (validatePayload(type, payload).length > 0) problems.push(`${field} ${value} is taken without more`)
    remove(payload, row.path)
    const needed = holds && row.presence !== 'only'
    if (refuses(type, payload, row.path) !== needed)
      problems.push(`${row.path} is ${needed ? '' : 'not '}required with ${field} ${value}`)
    put(payload, row.path, defaultOf(row))
    const allowed = holds || row.presence === 'also'
    if (!allowed && !refuses(type, payload, row.path)) problems.push(`${row.path} is refused with ${field} ${value}`)
  }
  return problems
}

/** The lines of the table that a schema stands for, as `path | type | required | values`. */
function linesOf(schema: any, prefix = ''): string[] {
  const lines: string[] = []
  for (const [name, member] of Object.entries<any>(schema.properties ?? {})) {
    if (member.not !== undefined) continue
    const path = prefix + name
    const required = (schema.required ?? []).includes(name) ? 'yes' : 'no'
    const values = member.enum ?? member.items?.enum ?? []
    lines.push(`${path} | ${typeOf(member)} | ${required} | ${values.join(' ')}`)
    lines.push(...linesOf(member, `${path}.`))
    if (member.items?.type === 'object') lines.push(...linesOf(member.items, `${path}[].`))
  }
  return lines
}

function typeOf(schema: any): string {
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => typeOf({ ...schema, type })).join(' or ')
  if (schema.type === 'boolean') return 'bool'
  if (schema.format === 'date-time') return 'timestamp'
  if (schema.type === 'integer' && schema.minimum === 0) return 'count'
  if (schema.type === 'array' && schema.items.type === 'string') return 'strings'
  return schema.type
}

t.test('the catalogue has exactly the types of SPEC section 6', async (t) => {
  const claimed = eventTypes.filter((type) => catalogue.get(type)!.section !== 'own')
  t.strictSame([...claimed].sort(), [...table.keys()].sort())
})

t.test('the catalogue states exactly the table’s fields of each type', async (t) => {
  for (const [type, rows] of table) {
    const { payload } = catalogue.get(type)!
    const expected = rows.map(({ path, type, presence, values }) => {
      return `${path} | ${type} | ${presence === 'yes' ? 'yes' : 'no'} | ${values.join(' ')}`
    })
    t.strictSame(linesOf(payload).sort(), expected.sort(), type)
    t.not((payload as any).additionalProperties, false, `${type} is open`)
  }
})

t.test(
  'every field of the table is checked: required, typed, closed if enumerated, conditional if it depends',
  async (t) => {
    for (const [type, rows] of table) t.strictSame(problemsOf(type, rows), [], type)
  },
)

/** Members that the service's own types always carry; anything else in them is what changed. */
const IDENTITY: Readonly<Record<string, string>> = {
  execution_requested: '',
  run_output: 'stream text',
  project_created: 'project_id state',
  project_updated: 'project_id state',
  campaign_added: 'campaign status',
  campaign_owner_paused: 'campaign status',
  campaign_resumed: 'campaign status',
  campaign_decided: 'campaign status',
  pacing_label_limited: 'label max_running',
  pacing_label_unlimited: 'label',
  pacing_project_weighed: 'project weight',
  engine_run_opened: 'engine_run_id state',
  trace_summary_recorded: 'engine_run_id state',
  trace_ingested: 'trace_id',
  evidence_observed: 'engine_run_id',
  engine_capabilities_recorded: '',
  engine_capabilities_removed: '',
  discovery_recorded: 'discovery_id',
  drift_classified: 'intent_record_id classification',
  prompt_pack_compiled: 'formation_brief_id digest',
  prompt_pack_edited: 'formation_brief_id digest',
  sentinel_fired: 'sentinel',
  sentinel_skipped: 'sentinel',
}

const FAMILIES: ReadonlyArray<readonly [family: string, identity: string]> = [
  ['run_request_', 'run_request_id state'],
  ['runner_', 'runner_id state'],
  ['intent_record_', 'intent_record_id state'],
  ['hypothesis_', 'hypothesis_id state'],
  ['formation_brief_', 'formation_brief_id state'],
  ['token_', 'token_id state'],
  ['sentinel_', 'sentinel state'],
]

const STATES: Readonly<Record<string, string>> = {
  project_: 'active archived',
  run_request_: 'queued offered accepted started cancelling completed failed cancelled lost',
  runner_: 'registered draining removed',
  engine_run_: 'open summarized closed',
  hypothesis_: 'open accepted rejected',
  token_: 'active revoked',
}

t.test("the service's own types require identity and state, and nothing more", async (t) => {
  for (const type of eventTypes.filter((type) => catalogue.get(type)!.section === 'own')) {
    const identity = IDENTITY[type] ?? FAMILIES.find(([family]) => type.startsWith(family))?.[1]
    const missing = validatePayload(type, {}).map(({ pointer }) => pointer.slice(1))
    t.strictSame(missing.sort(), (identity ?? 'unknown type').split(' ').filter(Boolean).sort(), type)
    t.strictSame(validatePayload(type, 7).length, 1, `the payload of ${type} is an object`)
    const { properties } = catalogue.get(type)!.payload as any
    const states = Object.entries(STATES).find(([family]) => type.startsWith(family))?.[1]
    if (states !== undefined) t.strictSame(properties.state.enum.join(' '), states, `states of ${type}`)
  }
})

t.test("a runner's plain output says which stream it is from", async (t) => {
  t.strictSame(validatePayload('run_output', { stream: 'stderr', text: 'a\n', truncated: true }), [])
  t.equal(validatePayload('run_output', { stream: 'stdin', text: 7 }).length, 2)
  const faults = (text: string) => validatePayload('run_output', { stream: 'stdout', text })
  for (const text of ['a'.repeat(65_536), `${'漢'.repeat(21_845)}a`]) t.strictSame(faults(text), [])
  for (const text of ['a'.repeat(65_537), `${'漢'.repeat(21_845)}aa`]) {
    t.strictSame(faults(text), [{ pointer: '/text', detail: 'must take at most 65536 bytes in UTF-8, got 65537' }])
  }
})
