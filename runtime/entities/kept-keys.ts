/**
 * What an `Idempotency-Key` has made, where the name is the id, or asked of what is there already: one reservation a key, until
 * its time is over. From then on the key is free, and the row means nothing to anybody: retention takes it.
 */
import type { Reservation } from '../../storage/journal.ts'
import type { Runtime } from '../api.ts'

/** Of the reservations. Kept for ever: they are in the homes. */
export const KEPT_KEYS = 'made'

interface MadeByKey {
  readonly id: string
  /** Of the body that the key stands for: no spaces. */
  readonly fingerprint: string
}

/** To be kept with the step that makes it; `place` tells the keys of different callers and paths apart. */
export function keptKey({ nature, settings }: Runtime, place: string, { id, fingerprint }: MadeByKey): Reservation {
  const untilMs = Math.floor(nature.wallMs()) + settings.idempotencyMs
  return { scope: KEPT_KEYS, key: place, value: `${untilMs} ${fingerprint} ${id}` }
}

/** What the key has made, while it is kept. */
export function madeByKey({ journal, nature }: Runtime, place: string): MadeByKey | undefined {
  const value = journal.reservation(KEPT_KEYS, place)
  if (value === undefined || isKeyOver(value, nature.wallMs())) return undefined
  const [, fingerprint, id] = value.split(' ') as [string, string, string]
  return { id, fingerprint }
}

/** Of a value that was kept: its key is free at this time of the wall clock, milliseconds. */
export function isKeyOver(value: string, nowMs: number): boolean {
  return nowMs >= Number(value.slice(0, value.indexOf(' ')))
}
