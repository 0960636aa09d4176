/**
 * What schemas are put together from: TypeBox's constructors, as far as they are used, under TypeBox's types. A schema is plain
 * JSON Schema when the program runs, and these are all that makes it so; TypeBox itself, loaded for it, was 370 files
 * and a third of what a start costs (0.25 of 0.7 s of CPU, of the service and of every command). A test holds the two
 * against each other.
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

/** The members of an object that need not be there: it is no part of their own schema. */
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
