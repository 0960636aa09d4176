/** The schema constructors against TypeBox's own: the same JSON, member by member in the same order. */
import t from 'tap'
import { Type as TypeBox } from 'typebox'
import { Type } from '../../machines/schema-parts.ts'

type Constructors = typeof Type

/** One schema with everything that a constructor takes. */
function schemas(Type: Constructors): Readonly<Record<keyof Constructors, readonly object[]>> {
  const said = { description: 'what it is' }
  return {
    Array: [Type.Array(Type.String()), Type.Array(Type.Integer(), { minItems: 1, ...said })],
    Boolean: [Type.Boolean(), Type.Boolean({ default: false, ...said })],
    Integer: [Type.Integer(), Type.Integer({ minimum: 0, maximum: 9, ...said })],
    Literal: [Type.Literal('a'), Type.Literal(3, said), Type.Literal(true)],
    Number: [Type.Number(), Type.Number({ exclusiveMinimum: 0, ...said })],
    Object: [
      Type.Object({}),
      Type.Object({ a: Type.String() }),
      Type.Object({ b: Type.Optional(Type.String(said)), a: Type.Optional(Type.Integer()) }),
      Type.Object(
        { c: Type.Optional(Type.Boolean()), b: Type.Number(), a: Type.Object({ d: Type.Optional(Type.Unknown()) }) },
        { additionalProperties: false, allOf: [{ required: ['c'] }], ...said },
      ),
    ],
    Optional: [
      Type.Optional(Type.String(said)),
      Type.Object({ a: Type.Optional(Type.Optional(Type.String())), b: Type.Optional(Type.Unsafe({ type: 'null' })) }),
    ],
    String: [Type.String(), Type.String({ pattern: '^a$', minLength: 1, format: 'date-time', ...said })],
    Union: [Type.Union([Type.String(), Type.Literal('a')]), Type.Union([Type.Boolean()], said)],
    Unknown: [Type.Unknown(), Type.Unknown(said)],
    Unsafe: [Type.Unsafe({ anyOf: [Type.String(), { type: 'null' }] }), Type.Unsafe(said)],
  }
}

t.test('every constructor makes the JSON Schema that TypeBox makes', (t) => {
  const ours = schemas(Type)
  const theirs = schemas(TypeBox)
  t.same(Object.keys(ours), Object.keys(Type), 'all are compared')
  for (const name of Object.keys(ours) as (keyof Constructors)[])
    for (const [i, schema] of ours[name].entries())
      t.equal(JSON.stringify(schema), JSON.stringify(theirs[name][i]), name)
  t.end()
})

t.test('a member that is optional in one object is unchanged in another', (t) => {
  const name = Type.String()
  t.same(Type.Object({ name: Type.Optional(name) }).required, undefined)
  t.same(Type.Object({ name }).required, ['name'])
  t.end()
})
