/**
 * Parses query strings against a route's schema. Every value arrives as text and is converted to the type in the
 * schema. An unknown, repeated or invalid parameter is 400 `invalid_query`, so that a misspelt filter never means
 * "all".
 */
import { escaped } from '../machines/canonical.ts'
import { type Check, compile, type TSchema } from '../machines/schema.ts'
import type { FieldProblem } from './problems.ts'

type QueryResult =
  | { readonly ok: true; readonly query: Readonly<Record<string, any>> }
  | { readonly ok: false; readonly errors: readonly FieldProblem[] }

/** The same texts come again and again (`wait=30`), so this many parsed ones are cached for each route. */
const CACHE_ENTRIES_MAX = 256
const CACHED_CHARACTERS_MAX = 256
/** Faults reported for one query: enough to repair it, few enough that a kilobyte is not answered with a megabyte. */
const FAULTS_MAX = 50

export class QueryParser {
  readonly #types: ReadonlyMap<string, string>
  readonly #check: Check
  readonly #unknown: string
  readonly #cache = new Map<string, QueryResult>()

  /** @param schema a closed object whose properties are strings, integers, booleans, or lists of strings. */
  constructor(schema: TSchema) {
    const { properties } = schema as unknown as { properties: Record<string, { type: string }> }
    this.#types = new Map(Object.entries(properties).map(([name, property]) => [name, property.type]))
    this.#check = compile(schema)
    const known = [...this.#types.keys()].join(', ')
    this.#unknown = known === '' ? 'unknown; the path has no parameters' : `unknown; known parameters: ${known}`
  }

  /** @param text the query without `?`, undecoded. */
  parse(text: string): QueryResult {
    const known = this.#cache.get(text)
    if (known !== undefined) return known
    const result = this.#parse(text)
    if (text.length <= CACHED_CHARACTERS_MAX) {
      if (this.#cache.size >= CACHE_ENTRIES_MAX) this.#cache.clear()
      this.#cache.set(text, result)
    }
    return result
  }

  #parse(text: string): QueryResult {
    const query: Record<string, unknown> = {}
    const errors: FieldProblem[] = []
    for (const part of text.split('&')) {
      if (part === '') continue
      if (errors.length === FAULTS_MAX) break
      const at = part.indexOf('=')
      const name = decode(at < 0 ? part : part.slice(0, at))
      const value = decode(at < 0 ? '' : part.slice(at + 1))
      if (name === undefined || value === undefined) {
        errors.push({ pointer: '', detail: `${JSON.stringify(part.slice(0, 60))} cannot be percent-decoded` })
        continue
      }
      const type = this.#types.get(name)
      const pointer = `/${escaped(name)}`
      if (type === undefined) errors.push({ pointer, detail: this.#unknown })
      else if (Object.hasOwn(query, name))
        errors.push({ pointer, detail: 'given twice; separate list values with commas' })
      else query[name] = typed(type, value)
    }
    if (errors.length === 0) errors.push(...this.#check(query))
    return errors.length === 0 ? { ok: true, query: Object.freeze(query) } : { ok: false, errors }
  }
}

/** A value that does not look like its type stays text; the validator then reports what was expected. */
function typed(type: string, value: string): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d{1,15}(\.\d+)?$/.test(value)) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  if (type === 'array') return value.split(',')
  return value
}

function decode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
