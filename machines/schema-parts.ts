/**
 * What schemas are composed of: those of TypeBox's constructors that are used, with TypeBox's types. At run time a
 * schema is plain JSON Schema, which these functions suffice to make; loading TypeBox itself for that meant 370 files
 * and a third of the start-up cost (0.25 of 0.7 s of CPU, of the service and of every command). A test checks that both
 * make the same.
 */
import type { TSchema, Type as TypeBox } from 'typebox'

type Parts = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>
type Options = object | undefined

/** The optional members of objects: being optional is not part of a member's own schema. */
const optional = new WeakSet<object>()

function object(properties: Readonly<Record<string, TSchema>>, options: Options) {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!))
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
}

function madeOptional(schema: TSchema) {
  const copy = { ...schema }
  optional.add(copy)
  return copy
}

export const Type = {
  Array: (items: TSchema, options: Options) => ({ type: 'array', items, ...options }),
  Boolean: (options: Options) => ({ type: 'boolean', ...options }),
  Integer: (options: Options) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options: Options) => ({ type: typeof value, const: value, ...options }),
  Number: (options: Options) => ({ type: 'number', ...options }),
  Object: object,
  Optional: madeOptional,
  String: (options: Options) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly TSchema[], options: Options) => ({ anyOf, ...options }),
  Unknown: (options: Options) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
} as unknown as Parts
