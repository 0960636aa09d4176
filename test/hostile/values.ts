/** Values that satisfy a schema of `/openapi.json`: taken from earlier answers, from bounds, and at random. */
import fc from 'fast-check'
import type { Random } from '../random.ts'
import type { Schema } from './operations.ts'
import type { Scalar } from './pool.ts'

/** For whom a value is made: decides which known values are used for a name, and what free text contains. */
export interface Context {
  readonly random: Random
  /** A value seen before with that name. */
  known(name: string): Scalar | undefined
  /** Free text that can be recognized as the author's own where that matters. */
  text(): string
}

const SAMPLES_A_PATTERN = 64
const KNOWN_CHANCE = 0.7
const OPTIONAL_CHANCE = 0.3
const DEPTH_MAX = 6

export class Values {
  readonly #schemas: Record<string, Schema>
  readonly #samples = new Map<string, readonly string[]>()
  readonly #seed: number

  constructor(openApi: any, seed: number) {
    this.#schemas = openApi.components.schemas
    this.#seed = seed
  }

  /** The schema itself if it is given by reference. */
  resolve(schema: Schema): Schema {
    let at = schema
    while (at?.$ref !== undefined) at = this.#schemas[at.$ref.split('/').at(-1)!]
    return at
  }

  make(schema: Schema, name: string, context: Context, depth = 0): unknown {
    const { random } = context
    const at = this.resolve(schema)
    if (at.const !== undefined) return at.const
    if (at.enum !== undefined) return random.pick(at.enum)
    if (at.anyOf !== undefined) return this.make(random.pick(at.anyOf), name, context, depth)
    const type = Array.isArray(at.type) ? random.pick(at.type as string[]) : at.type
    switch (type) {
      case 'string':
        return this.#string(at, name, context)
      case 'integer':
      case 'number':
        return this.#number(at, name, context)
      case 'boolean':
        return random.chance(0.5)
      case 'array':
        return this.#array(at, name, context, depth)
      case 'object':
        return this.#object(at, context, depth)
      case 'null':
        return null
      default:
        return anything(context, depth)
    }
  }

  #string(schema: Schema, name: string, context: Context): string {
    const { random } = context
    const known = random.chance(KNOWN_CHANCE) ? context.known(name) : undefined
    if (typeof known === 'string' && isOf(schema, known)) return known
    if (schema.format === 'date-time') return timeNear(random)
    if (schema.pattern !== undefined) return random.pick(this.#samplesOf(schema.pattern, schema.maxLength))
    const max = schema.maxLength ?? 200
    const text = context.text()
    const padded = text.length >= (schema.minLength ?? 0) ? text : text.padEnd(schema.minLength, 'x')
    return random.chance(0.01) ? padded.padEnd(max, 'y').slice(0, max) : padded.slice(0, max)
  }

  #number(schema: Schema, name: string, context: Context): number {
    const { random } = context
    const from = schema.minimum ?? 0
    const to = schema.maximum ?? from + 1_000
    const known = random.chance(KNOWN_CHANCE) ? context.known(name) : undefined
    if (typeof known === 'number' && known >= from && known <= to) return known
    const kind = random.next()
    if (kind < 0.15) return from
    if (kind < 0.2) return to
    return random.between(from, Math.min(to, from + 50))
  }

  #array(schema: Schema, name: string, context: Context, depth: number): unknown[] {
    const { random } = context
    const min = schema.minItems ?? 0
    const max = Math.min(schema.maxItems ?? 3, min + 3)
    const length = random.chance(0.01) ? Math.min(schema.maxItems ?? 20, 200) : random.between(min, max)
    const items: unknown[] = []
    for (let n = 0; n < length; n++) items.push(this.make(schema.items ?? {}, name, context, depth + 1))
    return schema.uniqueItems === true ? [...new Set(items)] : items
  }

  #object(schema: Schema, context: Context, depth: number): Record<string, unknown> {
    const { properties = {}, required = [] } = schema
    const { random } = context
    const made: Record<string, unknown> = {}
    for (const [name, property] of Object.entries(properties)) {
      const isWanted = required.includes(name) || (depth < DEPTH_MAX && random.chance(OPTIONAL_CHANCE))
      if (isWanted) made[name] = this.make(property as Schema, name, context, depth + 1)
    }
    for (const rule of schema.allOf ?? []) this.#obey(rule, made, context, depth)
    if (schema.additionalProperties === false || depth >= DEPTH_MAX) return made
    const isFree = Object.keys(properties).length === 0
    for (let n = isFree ? random.between(0, 3) : 0; n > 0; n--)
      made[`m${random.between(0, 20)}`] = anything(context, depth + 1)
    return made
  }

  /** Applies the conditions between members in the schemas: `if`, `then`, `else`. */
  #obey(rule: Schema, made: Record<string, unknown>, context: Context, depth: number): void {
    const condition: Record<string, Schema> = rule.if?.properties ?? {}
    const holds = Object.entries(condition).every(([name, { enum: values, const: value }]) =>
      values === undefined ? made[name] === value : values.includes(made[name]),
    )
    const { properties = {}, required = [] } = (rule.if === undefined ? rule : holds ? rule.then : rule.else) ?? {}
    for (const [name, property] of Object.entries<Schema>(properties)) if (property.not !== undefined) delete made[name]
    for (const name of required) made[name] ??= this.make(properties[name] ?? {}, name, context, depth + 1)
  }

  #samplesOf(pattern: string, maxLength = Number.POSITIVE_INFINITY): readonly string[] {
    const known = this.#samples.get(pattern)
    if (known !== undefined) return known
    // The generator does not support lookahead: what it made without is filtered with the whole pattern.
    const bare = new RegExp(pattern.replaceAll(/\(\?!(?:[^()]|\([^()]*\))*\)/g, ''))
    const made = fc.sample(fc.stringMatching(bare), {
      numRuns: SAMPLES_A_PATTERN,
      seed: this.#seed,
    })
    const whole = new RegExp(pattern)
    const samples = made.filter((text) => text.length <= maxLength && whole.test(text))
    if (samples.length === 0) throw new Error(`no text was made for ${pattern}`)
    this.#samples.set(pattern, samples)
    return samples
  }
}

function isOf({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY, format }: Schema, text: string): boolean {
  if (text.length < minLength || text.length > maxLength) return false
  if (format === 'date-time' && Number.isNaN(Date.parse(text))) return false
  return pattern === undefined || new RegExp(pattern).test(text)
}

/** A time near now: past, about to come, or far away. */
function timeNear(random: Random): string {
  const awayMs = random.pick([-86_400_000, -1_000, 500, 2_000, 60_000, 86_400_000, 3.2e12])
  return new Date(Date.now() + awayMs).toISOString()
}

/** Any JSON value. */
export function anything(context: Context, depth: number): unknown {
  const { random } = context
  const kind = random.between(0, depth > 4 ? 4 : 6)
  if (kind <= 1) return context.text()
  if (kind === 2) return random.between(-5, 1_000_000)
  if (kind === 3) return random.chance(0.5)
  if (kind === 4) return null
  if (kind === 5) return Array.from({ length: random.between(0, 3) }, () => anything(context, depth + 1))
  const made: Record<string, unknown> = {}
  for (let n = random.between(0, 3); n > 0; n--) made[`k${random.between(0, 9)}`] = anything(context, depth + 1)
  return made
}
