/**
 * A session's usage and cost as its engine reports them, normalized: engines choose the names of models, token kinds
 * and currencies. Anything that is not a count or an amount is unmeasured; nothing is ever made up.
 */
import { clipped } from '../clipped.ts'
import type { TokensByModel } from '../documents/usage.ts'

/** How many models and token kinds are kept apart; the rest goes under `other`. */
const MODELS_MAX = 64
const KINDS_MAX = 16
const NAME_CHARS_MAX = 64
const OTHERS = 'other'
/** Stands for the model of counts given without one. */
const NO_MODEL = 'unnamed'
/** Amounts are summed as whole millionths, so that a sum of thousands of them is exact. */
const MICROS = 1_000_000
const AMOUNT_MAX = 1e9
/** The `basis` given by an engine that has no price. */
const UNMEASURED = 'unmeasured'

type Counts = Readonly<Record<string, number>>

/** What a session adds to a sum. Plain JSON. */
export interface Measured {
  /** Absent if not measured. */
  readonly tokens?: TokensByModel
  /** Millionths by currency. Absent if not priced. */
  readonly micros?: Counts
  readonly basis?: string
}

/** Reads the `usage` and `cost` of an `agent_session_ended`; takes from each what is meaningful. */
export function measured(usage: unknown, cost: unknown): Measured {
  const tokens = tokensOf(usage)
  const micros = microsOf(cost)
  const basis = (cost as { basis?: unknown } | undefined)?.basis
  return {
    ...(tokens === undefined ? {} : { tokens }),
    ...(micros === undefined ? {} : { micros }),
    ...(micros === undefined || typeof basis !== 'string' || basis === '' ? {} : { basis: name(basis) }),
  }
}

/** Takes `{model: {input, output, ...}}`, or counts alone. */
function tokensOf(usage: unknown): TokensByModel | undefined {
  if (!isObject(usage)) return undefined
  let tokens: TokensByModel = {}
  for (const [model, counts] of Object.entries(usage)) {
    if (isObject(counts)) tokens = withCounts(tokens, model, counts)
    else if (isCount(counts)) tokens = withCounts(tokens, NO_MODEL, { [model]: counts })
  }
  return Object.keys(tokens).length === 0 ? undefined : tokens
}

/** Adds only valid counts; a model without any was not measured. */
function withCounts(tokens: TokensByModel, model: string, counts: Readonly<Record<string, unknown>>): TokensByModel {
  const sound = Object.entries(counts).filter((entry): entry is [string, number] => isCount(entry[1]))
  return sound.length === 0 ? tokens : plus(tokens, { [model]: Object.fromEntries(sound) })
}

/** The sum of both; exact as far as a number can be. */
export function plus(a: TokensByModel | undefined, b: TokensByModel): TokensByModel {
  const sum = new Map(Object.entries(a ?? {}))
  for (const [model, counts] of Object.entries(b)) {
    const key = keyIn(sum, name(model), MODELS_MAX)
    sum.set(key, added(sum.get(key) ?? {}, counts))
  }
  return Object.fromEntries(sum)
}

/** The sum of two sets of named counts, each capped at `most`. */
export function added(a: Counts, b: Counts, most: number = Number.MAX_SAFE_INTEGER): Counts {
  const sum = new Map(Object.entries(a))
  for (const [kind, count] of Object.entries(b)) {
    const key = keyIn(sum, name(kind), KINDS_MAX)
    sum.set(key, Math.min((sum.get(key) ?? 0) + count, most))
  }
  return Object.fromEntries(sum)
}

function keyIn(known: ReadonlyMap<string, unknown>, key: string, most: number): string {
  return known.has(key) || known.size < most ? key : OTHERS
}

/**
 * Members named by a currency code are amounts. ISO 4217 writes codes in upper case: `usd` and `USD` are one currency,
 * whose amounts add up.
 */
function microsOf(cost: unknown): Counts | undefined {
  if (!isObject(cost) || cost.basis === UNMEASURED) return undefined
  const micros = new Map<string, number>()
  for (const [code, amount] of Object.entries(cost)) {
    if (!/^[A-Za-z]{3}$/.test(code) || !isAmount(amount)) continue
    const currency = code.toUpperCase()
    micros.set(currency, (micros.get(currency) ?? 0) + Math.round(amount * MICROS))
  }
  return micros.size === 0 ? undefined : Object.fromEntries([...micros].slice(0, KINDS_MAX))
}

function name(text: string): string {
  return clipped(text, NAME_CHARS_MAX)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= AMOUNT_MAX
}

/** Converts millionths to amounts, for people. */
export function amountsOf(micros: Counts): Record<string, number> {
  return Object.fromEntries(Object.entries(micros).map(([currency, sum]) => [currency, sum / MICROS]))
}
