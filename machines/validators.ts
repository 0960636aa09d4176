/**
 * The one place that knows ajv: how it is loaded, and what it is taught besides JSON Schema. Invariant: nothing is
 * loaded before the first check, because ajv is 90 files and most commands check nothing: without them a command starts
 * in two thirds of the CPU time.
 */
import { createRequire } from 'node:module'
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'
import { canonical, NotJson } from './canonical.ts'
import { takesMoreInPrompt } from './prompt-text.ts'
import { takesMoreThan } from './utf8.ts'

const SETTINGS = {
  strict: true,
  // Rules (`requiredWith`) name members that the enclosing object declares.
  strictRequired: false,
  allowUnionTypes: true,
  // Errors carry the value and the schema that refused it; the sentences are built from both.
  verbose: true,
} as const

/** Custom keywords: JSON Schema's `maxLength` counts characters, not bytes. */
export const BYTES_MAX = 'x-max-bytes'
export const PROMPT_BYTES_MAX = 'x-max-prompt-bytes'

/** The RFC's grammar: ajv-formats checks the calendar, but accepts a space instead of the T and offsets like `+02`. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,30})?(Z|[+-]\d\d:\d\d)$/i

interface Checker {
  readonly ajv: Ajv2020
  readonly bySchema: WeakMap<object, ValidateFunction>
  readonly byText: Map<string, ValidateFunction>
}

/** Stops at the first fault; valid values are checked by this one only. */
export const first = onFirstUse(false)
/** Collects every fault; used only after a value has failed. */
export const every = onFirstUse(true)

/** The schema's validator: compiled once, and shared by identical schemas. Throws if the schema is wrong. */
export function validatorOf(checker: () => Checker, schema: object): ValidateFunction {
  const { ajv, bySchema, byText } = checker()
  const known = bySchema.get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(schema)
  const validator = byText.get(text) ?? ajv.compile(schema)
  byText.set(text, validator)
  bySchema.set(schema, validator)
  return validator
}

function onFirstUse(allErrors: boolean): () => Checker {
  let checker: Checker | undefined
  return () => {
    checker ??= { ajv: loaded(allErrors), bySchema: new WeakMap(), byText: new Map() }
    return checker
  }
}

const load = createRequire(import.meta.url)

function loaded(allErrors: boolean): Ajv2020 {
  const library: typeof import('ajv/dist/2020.js') = load('ajv/dist/2020.js')
  const formats: typeof import('ajv-formats') = load('ajv-formats')
  const ajv = new library.Ajv2020({ ...SETTINGS, allErrors })
  formats.default(ajv)
  const calendar = formats.default.get('date-time', 'full') as { validate: (text: string) => boolean }
  ajv.addFormat('date-time', { type: 'string', validate: (text) => RFC_3339.test(text) && calendar.validate(text) })
  // Ajv's own `uniqueItems` calls `valueOf` on what it compares, so a client could send a member of that name to make
  // the check throw.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isAsked: boolean, items: readonly unknown[]) => !isAsked || areUnique(items),
    error: { message: 'must NOT have duplicate items' },
  })
  const bounds = { [BYTES_MAX]: takesMoreThan, [PROMPT_BYTES_MAX]: takesMoreInPrompt }
  for (const [keyword, takesMore] of Object.entries(bounds)) {
    const validate = (bytesMax: number, text: string): boolean => !takesMore(text, bytesMax)
    ajv.addKeyword({ keyword, type: 'string', schemaType: 'number', validate })
  }
  return ajv
}

/** Compares objects by canonical text: pairwise comparison of five thousand of them blocked the service for 4 s. */
function areUnique(items: readonly unknown[]): boolean {
  const plain = new Set<unknown>()
  const objects = new Set<string>()
  for (const item of items) {
    if (typeof item === 'object' && item !== null) {
      const text = textOf(item)
      if (text !== undefined && objects.size === objects.add(text).size) return false
    } else if (plain.size === plain.add(item).size) return false
  }
  return true
}

/** Undefined if the item is not JSON; other code reports that. */
function textOf(item: object): string | undefined {
  try {
    return canonical(item)
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return undefined
  }
}
