/** What agents have used, in words: what was not measured is shown as unknown, never as nothing. */
import { safe } from './print.ts'

type Field = readonly [string, string]

interface Sums {
  readonly sessions: number
  readonly measured: number
  readonly priced: number
  readonly tokens?: Tokens
  readonly cost?: Readonly<Record<string, number>>
}
type Tokens = Readonly<Record<string, Readonly<Record<string, number>>>>

/** The fields for the page of an item, campaign or project; empty while no session has ended. */
export function usageFields(usage: Sums | undefined): Field[] {
  if (usage === undefined) return []
  const { sessions, measured, priced, tokens, cost } = usage
  return [
    ['sessions', `${sessions} ended`],
    ...(tokens === undefined
      ? [['tokens', 'not measured'] as const]
      : tokenFields(tokens).map(([name, text]) => [name, `${text}${unknown(sessions - measured)}`] as const)),
    ['cost', cost === undefined ? 'unknown' : `${amounts(cost)}${unknown(sessions - priced)}`],
  ]
}

/** One field for each model. */
export function tokenFields(tokens: Tokens): Field[] {
  return Object.entries(tokens).map(([model, counts]) => {
    const kinds = Object.entries(counts).map(([kind, count]) => `${count.toLocaleString('en')} ${safe(kind)}`)
    return ['tokens', `${safe(model)}: ${kinds.join(', ')}`]
  })
}

/** Whole cents; amounts below a cent in full. */
export function amounts(cost: Readonly<Record<string, number>>): string {
  const words = Object.entries(cost).map(
    ([currency, amount]) => `${amount >= 0.01 || amount === 0 ? amount.toFixed(2) : amount} ${safe(currency)}`,
  )
  return words.join(' + ')
}

function unknown(sessions: number): string {
  return sessions === 0 ? '' : ` (unknown for ${sessions} more)`
}
