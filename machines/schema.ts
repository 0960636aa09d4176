/**
 * The one place that knows how schemas are written (TypeBox, JSON Schema draft 2020-12), and what is said of a value
 * that one refuses: a pointer and a sentence for each fault. Invariant: a value that `compile`'s check accepts matches
 * the schema's TypeScript type; nothing is coerced, filled in or removed.
 *
 * Open maps stay data: keys like `__proto__` are own members after JSON.parse and harmless as long as nobody merges
 * such an object into another. Closed objects refuse them like any unknown member.
 */

import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import type { Static, TProperties, TSchema } from 'typebox'
import { escaped } from './canonical.ts'
import { Type } from './schema-parts.ts'
import { BYTES_MAX, every, first, PROMPT_BYTES_MAX, validatorOf } from './validators.ts'

export { type Static, type TSchema, Type }

/** One fault: a JSON Pointer (RFC 6901) relative to the checked value, and a sentence. */
export interface Fault {
  readonly pointer: string
  /** What was wrong and what was expected. */
  readonly detail: string
}

/** Returns every fault of a value; none if it satisfies the schema. */
export type Check = (value: unknown) => readonly Fault[]

/** Maximum faults listed for one value: enough to repair it, too few to answer a kilobyte with a megabyte. */
const FAULTS_MAX = 50
/** For values with more members than this only the first fault is reported: listing all costs memory for each. */
const LISTED_MEMBERS_MAX = 10_000

const NO_FAULTS: readonly Fault[] = Object.freeze([])

/**
 * The check for a schema. Compiled on first use (about 1 ms), so that loading a hundred schemas costs nothing; a
 * second, slower validator is compiled only when a value fails. Identical schemas share one validator. The first check
 * throws if the schema itself is wrong; a test compiles them all.
 */
export function compile(schema: TSchema): Check {
  let passes: ValidateFunction | undefined
  let explain: ValidateFunction | undefined
  return (value) => {
    passes ??= validatorOf(first, schema)
    if (passes(value)) return NO_FAULTS
    if (membersOf(value, LISTED_MEMBERS_MAX) > LISTED_MEMBERS_MAX) return faultsOf(passes.errors ?? [])
    explain ??= validatorOf(every, schema)
    explain(value)
    return faultsOf(explain.errors ?? [])
  }
}

/** A text of at most `bytesMax` bytes in UTF-8. */
export function shortText(bytesMax: number, description: string) {
  return Type.String({ [BYTES_MAX]: bytesMax, description: `${description} At most ${bytesMax} bytes in UTF-8.` })
}

/** Bounds a text that is always told in full, by what it takes in a prompt: invisible characters are written out there. */
export function inPrompt(bytesMax: number) {
  return { [PROMPT_BYTES_MAX]: bytesMax }
}

/** A closed union of strings: `enum` in the document, a union of literals in TypeScript. */
export function stringEnum<const Values extends readonly string[]>(
  values: Values,
  options: { readonly description?: string } = {},
) {
  return Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options })
}

/** The schema or null; only for members that SPEC gives as "or null", or without a type. */
export function nullable<S extends TSchema>(schema: S) {
  const { type, enum: values, ...rest } = schema as { type?: string; enum?: readonly unknown[] }
  if (typeof type !== 'string') return Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }] })
  const nulled = { ...rest, type: [type, 'null'], ...(values === undefined ? {} : { enum: [...values, null] }) }
  return Type.Unsafe<Static<S> | null>(nulled)
}

interface ObjectOptions {
  /** The schema's name in the API documents. */
  readonly title?: string
  readonly description?: string
  /** Conditions between members (`onlyWith`, `requiredWith`, `rule`). */
  readonly rules?: readonly Rule[]
}

/** An object that may have members beyond those named: event payloads, Run Results. */
export function openObject<P extends TProperties>(properties: P, options: ObjectOptions = {}) {
  return Type.Object(properties, { additionalProperties: true, ...annotations(options) })
}

/** An object that may have only the named members: request bodies. */
export function closedObject<P extends TProperties>(properties: P, options: ObjectOptions = {}) {
  return Type.Object(properties, { additionalProperties: false, ...annotations(options) })
}

/** A JSON object with arbitrary keys and values of one schema. */
export function mapOf<S extends TSchema>(values: S, description: string) {
  return Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: values, description })
}

/** A JSON object with unspecified members. */
export function anyObject(description?: string) {
  const said = description === undefined ? {} : { description }
  // Without an explicit `additionalProperties`, type generators take an object with no listed members for an empty one.
  return Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...said })
}

/** RFC 3339 date and time with an offset; the `T` is required, and the text is kept unchanged. */
export function timestamp(description?: string) {
  return Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) })
}

/** A whole number from 0 up. */
export function count(description?: string) {
  return Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) })
}

/** A condition between the members of one object: a schema that goes into its `allOf`. */
export type Rule = object
type Scalar = string | boolean

/** The named members may be present only if `member` has one of `values`. */
export function onlyWith(member: string, values: readonly Scalar[], ...names: string[]): Rule {
  return when(has(member, values), {}, absent(names, `allowed only with ${told(member, values)}`))
}

/** The named members must be present if `member` has one of `values`. */
export function requiredWith(member: string, values: readonly Scalar[], ...names: string[]): Rule {
  return when(has(member, values), needed(member, values, names), {})
}

/** The named members must be present if `member` has one of `values`, and absent otherwise. */
export function exactlyWith(member: string, values: readonly Scalar[], ...names: string[]): Rule {
  const otherwise = absent(names, `allowed only with ${told(member, values)}`)
  return when(has(member, values), needed(member, values, names), otherwise)
}

/** If `member` has one of `values`, other members must satisfy these schemas; each says why in `description`. */
export function rule(member: string, values: readonly Scalar[], members: Readonly<Record<string, object>>): Rule {
  return when(has(member, values), { properties: members }, {})
}

/** The named members must be absent; `why` completes "must be absent: ...". */
export function absent(names: readonly string[], why: string): Rule {
  return { properties: Object.fromEntries(names.map((name) => [name, never(why)])) }
}

/** A member that must be absent; `why` completes "must be absent: ...". */
export function never(why: string) {
  return { not: {}, description: why }
}

function annotations({ title, description, rules }: ObjectOptions) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(rules === undefined ? {} : { allOf: rules }),
  }
}

function has(member: string, values: readonly Scalar[]) {
  return { properties: { [member]: { enum: values } }, required: [member] }
}

function needed(member: string, values: readonly Scalar[], names: readonly string[]) {
  return { required: names, description: `required with ${told(member, values)}` }
}

function when(condition: object, consequence: object, otherwise: object): Rule {
  // biome-ignore lint/suspicious/noThenProperty: the keyword's name in JSON Schema
  return { if: condition, then: consequence, else: otherwise }
}

function told(member: string, values: readonly Scalar[]): string {
  return `${member} ${values.map(String).join(' or ')}`
}

/** Number of members and elements in a value; stops counting just past `bound`. */
function membersOf(value: unknown, bound: number): number {
  if (typeof value !== 'object' || value === null) return 1
  let members = 1
  const stack: object[] = [value]
  for (let at = stack.pop(); at !== undefined && members <= bound; at = stack.pop()) {
    for (const member of Object.values(at)) {
      members += 1
      if (members > bound) break
      if (typeof member === 'object' && member !== null) stack.push(member)
    }
  }
  return members
}

function faultsOf(errors: readonly ErrorObject[]): readonly Fault[] {
  const seen = new Set<string>()
  const faults: Fault[] = []
  const forms = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => schemaPath))
  for (const error of errors) {
    if (error.keyword === 'if' || insideOf(error, forms) || (errors.length > 1 && saidByEnum(error))) continue
    const fault = faultOfError(error)
    const identity = `${fault.pointer}\n${fault.detail}`
    if (seen.has(identity)) continue
    seen.add(identity)
    faults.push(fault)
    if (faults.length === FAULTS_MAX) break
  }
  return faults
}

/** Whether the error comes from a branch of a failed anyOf: the anyOf's own error covers it. */
function insideOf(error: ErrorObject, forms: ReadonlySet<string>): boolean {
  for (const path of forms) if (error.schemaPath.startsWith(`${path}/`)) return true
  return false
}

/** A type error on an enum: a value of the wrong type is not an allowed value either, and the enum error says more. */
function saidByEnum(error: ErrorObject): boolean {
  return error.keyword === 'type' && (error.parentSchema as { enum?: unknown } | undefined)?.enum !== undefined
}

function faultOfError(error: ErrorObject): Fault {
  const { params, instancePath: pointer } = error
  if (error.keyword === 'required') {
    return { pointer: `${pointer}/${escaped(params.missingProperty)}`, detail: missing(error) }
  }
  if (error.keyword === 'additionalProperties') {
    return { pointer: `${pointer}/${escaped(params.additionalProperty)}`, detail: unknownMember(error) }
  }
  return { pointer, detail: sentence(error) }
}

function sentence(error: ErrorObject): string {
  const { keyword, params, data } = error
  if (keyword === 'type') return `must be ${typeNames(params.type)}, got ${shown(data)}`
  if (keyword === 'enum') {
    return `must be one of ${params.allowedValues.map(String).join(', ')}${reasonOf(error)}; got ${shown(data)}`
  }
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}${reasonOf(error)}; got ${shown(data)}`
  if (keyword === 'not') return `must be absent: ${because(error, 'it is not allowed here')}`
  if (keyword === 'format') return `must be ${FORMATS[params.format] ?? `a valid ${params.format}`}, got ${shown(data)}`
  if (keyword === 'pattern') return `must match ${params.pattern}, got ${shown(data)}`
  if (keyword === 'minimum' || keyword === 'maximum') {
    return `must be ${params.comparison === '>=' ? 'at least' : 'at most'} ${params.limit}, got ${shown(data)}`
  }
  if (keyword === BYTES_MAX)
    return `must take at most ${error.schema} bytes in UTF-8, got ${Buffer.byteLength(data as string)}`
  if (keyword === PROMPT_BYTES_MAX)
    return `must take at most ${error.schema} bytes in a prompt, where invisible characters are written out (\\u{200b}), got ${shown(data)}`
  if (keyword === 'minItems') return `must have ${params.limit} or more entries, got ${(data as unknown[]).length}`
  if (keyword === 'maxItems') return `must have at most ${params.limit} entries, got ${(data as unknown[]).length}`
  if (keyword === 'minProperties') {
    return `must have ${params.limit} or more members, got ${Object.keys(data as object).length}${known(error)}`
  }
  if (keyword === 'anyOf') return `must have one of the allowed forms, got ${shown(data)}`
  return `${error.message ?? 'is not valid'}, got ${shown(data)}`
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'an RFC 3339 date and time such as 2026-01-31T12:00:00Z',
  uri: 'an absolute URI',
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

function typeNames(type: string | readonly string[]): string {
  const names = typeof type === 'string' ? type.split(',') : type
  return names.map((name) => TYPES[name] ?? name).join(' or ')
}

/** The offending value, short enough for a message. Undefined if only the first fault is listed. */
function shown(data: unknown): string {
  if (Array.isArray(data)) return 'an array'
  if (typeof data === 'object' && data !== null) return 'an object'
  if (typeof data !== 'string') return String(data)
  return data.length <= 60 ? JSON.stringify(data) : `a string of ${charactersOf(data)} characters`
}

/** As `maxLength` counts them: a surrogate pair is one. */
function charactersOf(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)
}

/** The description of the schema that refused the value. */
function because(error: ErrorObject, otherwise: string): string {
  return (error.parentSchema as { description?: string } | undefined)?.description ?? otherwise
}

/** Rule schemas have no type, and their description says why they apply; member schemas describe the member. */
function isOfRule(error: ErrorObject): boolean {
  return (error.parentSchema as { type?: string } | undefined)?.type === undefined
}

function missing(error: ErrorObject): string {
  return `is missing: ${isOfRule(error) ? because(error, 'it is required') : 'it is required'}`
}

function reasonOf(error: ErrorObject): string {
  const reason = isOfRule(error) ? because(error, '') : ''
  return reason === '' ? '' : ` (${reason})`
}

function unknownMember(error: ErrorObject): string {
  return `is not a known member${known(error)}`
}

function known({ parentSchema }: ErrorObject): string {
  const members = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {})
  return members.length === 0 ? '' : `; known members: ${members.join(', ')}`
}
