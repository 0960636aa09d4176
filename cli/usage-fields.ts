/** What agents used, in words: what was not measured is said to be unknown, never shown as nothing. */
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

/** The fields of an item's, a campaign's or a project's page; none while no session has ended. */
export function usageFields(usage: Sums | undefined): Field[] {
  if (usage === undefined) return []
  const { sessions, measured, priced, tokens, cost } = usage
  return [
    ['sessions', `${sessions} ended`],
    ...(tokens === undefined
      ? [['tokens', 'not measured'] as const]
      : tokenFields(tokens).map(([name, text]) => [name, `${text}${unknown(sessions - measured)}`] as const)),
    ['cost', cost === undefined ? 'not known' : `${amounts(cost)}${unknown(sessions - priced)}`],
  ]
}

/** One field a model. */
export function tokenFields(tokens: Tokens): Field[] {
  return Object.entries(tokens).map(([model, counts]) => {
    const kinds = Object.entries(counts).map(([kind, count]) => `${count.toLocaleString('en')} ${safe(kind)}`)
    return ['tokens', `${safe(model)}: ${kinds.join(', ')}`]
  })
}

/** Whole cents, and below a cent all that is known. */
export function amounts(cost: Readonly<Record<string, number>>): string {
  const words = Object.entries(cost).map(
    ([currency, amount]) => `${amount >= 0.01 || amount === 0 ? amount.toFixed(2) : amount} ${safe(currency)}`,
  )
  return words.join(' + ')
}

function unknown(sessions: number): string {
  return sessions === 0 ? '' : ` (of ${sessions} more not known)`
}
