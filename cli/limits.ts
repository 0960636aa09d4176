/** What limits work, for people: runners that rest while their providers are away, paused lanes and stopped labels. */
import type { Document } from './document.ts'
import { safe } from './print.ts'
import { counted } from './units.ts'

/** Why such an item waits. */
const AWAY = ['provider_unavailable', 'limited']

/** Whether an item or a run waits since the runners that may take it are limited, or until its provider is back. */
export function isWaitingForLimited({ waiting_because: why }: Document): boolean {
  return AWAY.includes(why?.code)
}

/** Of `GET /api/pacing`: the items that wait for their provider. They count as running, but take no place. */
export function awayIn({ running }: Document): number {
  return running.filter(isWaitingForLimited).length
}

/** `away`: how many of the running ones wait for their provider. */
export function placesText(running: number, max: number, away: number): string {
  const waits = away === 0 ? '' : `, ${counted(away, 'waits', 'wait')} for a provider`
  return `${running - away} of ${max} running or handed out${waits}`
}

/** Runners whose providers are away; undefined if there are none. */
export function limitedText(runners: readonly Document[]): string | undefined {
  const [first, ...others] = runners.filter(({ presence, limited }) => presence === 'online' && limited !== undefined)
  if (first === undefined) return undefined
  const more = others.length === 0 ? '' : ` and ${counted(others.length, 'other')} (intendant runner list)`
  return `${first.id} until ${first.limited.until} (${first.limited.code})${more}`
}

/** Until when its provider is unavailable, as far as is known, and what the provider said. */
export function limitOf({ limited }: Document): string | undefined {
  if (limited === undefined) return undefined
  const { code, message, until, is_stated, run_request_id } = limited
  const who = is_stated ? 'as the provider said' : 'then it is tried again'
  return `until ${until}, ${who} (${code}, by ${run_request_id}): ${safe(message)}`
}

/** Of `GET /api/pacing`: the labels that a limit of 0 holds back. */
export function stoppedLabels({ label_limits: limits = [] }: Document): readonly string[] {
  return limits.filter(({ max_running: max }: Document) => max === 0).map(({ label }: Document) => label)
}

/** Paused lanes and stopped labels, as words of one list. */
export function pausedText(lanes: readonly string[], labels: readonly string[]): string {
  return [...lanes, ...labels.map((label) => `label ${safe(label)}`)].join(', ')
}
