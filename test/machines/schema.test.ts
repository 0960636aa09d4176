/** Schemas and their checks: what passes, and what a refusal says. */
import t from 'tap'
import {
  absent,
  anyObject,
  closedObject,
  compile,
  count,
  exactlyWith,
  never,
  nullable,
  onlyWith,
  openObject,
  requiredWith,
  rule,
  type Static,
  stringEnum,
  type TSchema,
  Type,
  timestamp,
} from '../../machines/schema.ts'

const refused = (schema: TSchema, value: unknown) =>
  compile(schema)(value).map(({ pointer, detail }) => `${pointer} ${detail}`)

const person = closedObject({
  name: Type.String({ minLength: 1 }),
  age: Type.Optional(count()),
  'odd/na~me': Type.Optional(Type.Boolean()),
  tags: Type.Optional(Type.Array(Type.String())),
  since: Type.Optional(timestamp()),
  colour: Type.Optional(stringEnum(['red', 'green'])),
})

t.test('a valid value has no faults, and the same empty list is returned each time', async (t) => {
  const check = compile(person)
  t.strictSame(check({ name: 'a', age: 3, tags: [], colour: 'red' }), [])
  t.equal(check({ name: 'a' }), check({ name: 'b' }))
})

t.test('every fault is listed with a pointer and a sentence that says what was expected', async (t) => {
  const wrong = { age: -1, 'odd/na~me': 'x', tags: ['a', 7], since: 'now', colour: 'blue', surplus: 1 }
  t.strictSame(refused(person, wrong).sort(), [
    '/age must be at least 0, got -1',
    '/colour must be one of red, green; got "blue"',
    '/name is missing: it is required',
    '/odd~1na~0me must be true or false, got "x"',
    '/since must be an RFC 3339 date and time such as 2026-01-31T12:00:00Z, got "now"',
    '/surplus is not a known member; known members: name, age, odd/na~me, tags, since, colour',
    '/tags/1 must be a string, got 7',
  ])
  t.strictSame(refused(person, 'x'), [' must be an object, got "x"'])
  t.strictSame(refused(person, null), [' must be an object, got null'])
  t.strictSame(refused(person, { name: '' }), ['/name must NOT have fewer than 1 characters, got ""'])
  t.strictSame(refused(Type.Array(Type.Integer(), { minItems: 1 }), []), [' must have 1 or more entries, got 0'])
  t.strictSame(refused(Type.Array(Type.Integer(), { maxItems: 2 }), [1, 2, 3]), [' must have at most 2 entries, got 3'])
  const long = ['/name must NOT have more than 70 characters, got a string of 71 characters']
  const named = closedObject({ name: Type.String({ maxLength: 70 }) })
  t.strictSame(refused(named, { name: '💡'.repeat(71) }), long, 'a surrogate pair counts as one')
  const patch = { ...closedObject({ a: Type.Optional(count()), b: Type.Optional(count()) }), minProperties: 1 }
  t.strictSame(refused(patch, {}), [' must have 1 or more members, got 0; known members: a, b'])
  t.strictSame(refused(person, { name: ['x'.repeat(100)] }), ['/name must be a string, got an array'])
})

t.test('nothing is coerced, filled in or removed', async (t) => {
  const value = { name: 'a', age: '3' }
  t.strictSame(refused(person, value), ['/age must be a whole number, got "3"'])
  t.strictSame(value, { name: 'a', age: '3' })
})

t.test('a closed object refuses keys such as __proto__, and an open one keeps them as data', async (t) => {
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    const value = JSON.parse(`{"name":"a","${key}":{"polluted":true}}`)
    t.strictSame(
      compile(person)(value).map(({ pointer }) => pointer),
      [`/${key}`],
    )
    t.strictSame(refused(openObject({ name: Type.String() }), value), [])
  }
  t.notOk('polluted' in {})
})

t.test('a time is RFC 3339 with a T and an offset, on a day that exists', async (t) => {
  const check = compile(timestamp())
  for (const good of [
    '2026-01-31T12:00:00Z',
    '2026-01-31t12:00:00z',
    '2026-01-31T12:00:00.123456789-08:00',
    '2024-02-29T00:00:00Z',
    '2016-12-31T23:59:60Z',
  ]) {
    t.strictSame(check(good), [], good)
  }
  for (const bad of [
    '',
    '2026-01-31',
    '2026-01-31 12:00:00Z',
    '2026-01-31T12:00:00',
    '2026-01-31T12:00:00+02',
    '2026-01-31T12:00:00+0200',
    '2025-02-29T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:00:00.Z',
    '2026-01-31T12:00:00Z\n',
    `2026-01-31T12:00:00.${'1'.repeat(31)}Z`,
  ]) {
    t.equal(check(bad).length, 1, bad)
  }
})

t.test('null passes only where the schema allows it', async (t) => {
  const schema = openObject({
    text: nullable(Type.String({ minLength: 1 })),
    choice: nullable(stringEnum(['a'])),
    either: nullable(Type.Union([Type.String(), Type.Number()])),
  })
  const value: Static<typeof schema> = { text: null, choice: null, either: null }
  t.strictSame(refused(schema, value), [])
  t.strictSame(refused(schema, { text: 'x', choice: 'a', either: 7 }), [])
  t.strictSame(refused(schema, { text: 7, choice: 'b', either: true }), [
    '/text must be a string or null, got 7',
    '/choice must be one of a, null; got "b"',
    '/either must have one of the allowed forms, got true',
  ])
  t.strictSame(refused(schema, { text: null, choice: 7, either: null }), ['/choice must be one of a, null; got 7'])
  t.strictSame(refused(anyObject(), null), [' must be an object, got null'])
})

t.test('a fault of a condition between members says which value asked for it', async (t) => {
  const schema = openObject(
    {
      kind: stringEnum(['a', 'b']),
      only: Type.Optional(Type.String()),
      exact: Type.Optional(Type.String()),
      needed: Type.Optional(Type.String()),
      size: Type.Optional(Type.Integer()),
      secret: Type.Optional(Type.String()),
    },
    {
      description: 'not part of any sentence',
      rules: [
        onlyWith('kind', ['a'], 'only'),
        exactlyWith('kind', ['a'], 'exact'),
        requiredWith('kind', ['b'], 'needed'),
        rule('kind', ['b'], { size: { const: 0, description: 'b is empty' }, secret: never('b has none') }),
        absent(['hidden'], 'it is hidden'),
      ],
    },
  )
  t.strictSame(refused(schema, { kind: 'a', exact: 'x', only: 'x', size: 7, secret: 'x' }), [])
  t.strictSame(refused(schema, { kind: 'b', needed: 'x', size: 0 }), [])
  t.strictSame(refused(schema, { kind: 'a' }), ['/exact is missing: required with kind a'])
  t.strictSame(refused(schema, { kind: 'b', only: 'x', exact: 'x', size: 1, secret: 'x', hidden: 1 }), [
    '/only must be absent: allowed only with kind a',
    '/exact must be absent: allowed only with kind a',
    '/needed is missing: required with kind b',
    '/size must be 0 (b is empty); got 1',
    '/secret must be absent: b has none',
    '/hidden must be absent: it is hidden',
  ])
  t.strictSame(refused(schema, {}), ['/kind is missing: it is required'])
})

t.test('a large value gets only its first fault, a small one at most fifty', async (t) => {
  const schema = Type.Array(Type.String())
  t.equal(compile(schema)(Array.from({ length: 200 }, () => 7)).length, 50)
  t.strictSame(
    refused(
      schema,
      Array.from({ length: 20_000 }, () => 7),
    ),
    ['/0 must be a string, got 7'],
  )
})

t.test('a faulty schema is refused when it is first used', async (t) => {
  t.throws(() => compile({ type: 'strnig' } as TSchema)('x'))
  t.throws(() => compile({ type: 'string', minLenght: 1 } as TSchema)('x'), /strict mode/)
})

t.test('unique members are compared as data, whatever they are called', async (t) => {
  const schema = Type.Array(Type.Object({}, { additionalProperties: true }), { uniqueItems: true })
  const odd = JSON.parse('[{"valueOf":1,"toString":2},{"valueOf":{"a":1}},{"__proto__":1},{}]')
  t.strictSame(refused(schema, odd), [])
  t.equal(refused(schema, [{ a: 1, b: 2 }, {}, { b: 2, a: 1 }]).length, 1)
  t.strictSame(refused(Type.Array(Type.Unknown(), { uniqueItems: true }), [1, '1', null, true, 'true']), [])
  t.equal(refused(Type.Array(Type.String(), { uniqueItems: true }), ['a', 'b', 'a']).length, 1)
})

t.test('uniqueness of objects is checked in one pass over them', async (t) => {
  const schema = Type.Array(Type.String(), { uniqueItems: true })
  const odd = Array.from({ length: 4_900 }, (_, n) => ({ n }))
  const reads: number[] = []
  const counted = (length: number): number => {
    let count = 0
    const items = odd
      .slice(0, length)
      .map(({ n }) => Object.defineProperty({}, 'n', { get: () => ++count && n, enumerable: true }))
    refused(schema, items)
    return count
  }
  reads.push(counted(490), counted(4_900))
  t.ok(reads[1]! <= reads[0]! * 11, `ten times the objects, ten times the work: ${reads}`)
  const half = [{ a: '\ud800' }, { a: '\ud800' }]
  t.strictSame(
    refused(Type.Array(Type.Unknown(), { uniqueItems: true }), half),
    [],
    'values that JSON cannot carry are reported elsewhere',
  )
})
