/**
 * `origin`: where a person says that a change comes from. Opaque: bounded, kept in `by` beside the token, never
 * interpreted by the service. Every route by which a person changes something takes it, in its body or, if it has none,
 * in its query; it is added here in one place so that no route can forget it. A runner's own posts carry none: there
 * are too many of them.
 */
import { originText } from '../machines/documents/fields.ts'
import { closedObject, type TSchema, Type } from '../machines/schema.ts'
import type { Route } from './route.ts'

const NOT_PERSONS: ReadonlySet<string> = new Set(['none', 'any', 'runner'])
const origin = Type.Optional(originText('Where this comes from, as free text. Default: `<token name>@<peer address>`.'))
/** For routes that take no other member. */
const NOTHING_ELSE = { schema: closedObject({}, { title: 'OriginOnly' }), optional: true } as const

/** Whether the route is one by which a person changes something. */
export function takesOrigin({ method, access }: Route): boolean {
  return method !== 'GET' && !NOT_PERSONS.has(access.right)
}

/** The route with `origin` added to its body or query. */
export function withOrigin(route: Route): Route {
  if (!takesOrigin(route)) return route
  const isInQuery = route.method === 'DELETE' || route.upload !== undefined
  if (isInQuery) return { ...route, query: extended(route.query ?? closedObject({})) }
  const body = route.body ?? NOTHING_ELSE
  return { ...route, body: { ...body, schema: extended(body.schema) } }
}

interface Shape {
  readonly properties?: object
  readonly minProperties?: number
  readonly allOf?: readonly object[]
}

/** By the schema that was extended: a titled schema that two routes share must stay one schema. */
const known = new WeakMap<TSchema, TSchema>()

function extended(schema: TSchema): TSchema {
  let made = known.get(schema)
  if (made === undefined) {
    const { properties, minProperties, allOf = [] } = schema as TSchema & Shape
    // A body with a minimum number of members needs that many besides `origin`.
    // biome-ignore lint/suspicious/noThenProperty: the keyword's name in JSON Schema
    const alone = { if: { required: ['origin'] }, then: { minProperties: (minProperties ?? 0) + 1 } }
    const rules = minProperties === undefined ? {} : { allOf: [...allOf, alone] }
    made = { ...schema, ...rules, properties: { ...properties, origin } } as TSchema
    known.set(schema, made)
  }
  return made
}
