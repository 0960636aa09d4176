/**
 * What an `Idempotency-Key` was used for: to create an entity whose name is its id, or to act on an existing one. One
 * reservation per key until it expires; from then on the key is free, and retention removes the row.
 */
import type { Reservation } from '../../storage/journal.ts'
import type { Runtime } from '../api.ts'

/** Scope of the reservations. Must never change: homes contain it. */
export const KEPT_KEYS = 'made'

interface MadeByKey {
  readonly id: string
  /** Fingerprint of the body that the key stands for, without spaces. */
  readonly fingerprint: string
}

/** Reservation to store with the step; `place` keeps the keys of different callers and paths apart. */
export function keptKey({ platform, settings }: Runtime, place: string, { id, fingerprint }: MadeByKey): Reservation {
  const untilMs = Math.floor(platform.wallMs()) + settings.idempotencyMs
  return { scope: KEPT_KEYS, key: place, value: `${untilMs} ${fingerprint} ${id}` }
}

/** What the key has made, while it is kept. */
export function madeByKey({ journal, platform }: Runtime, place: string): MadeByKey | undefined {
  const value = journal.reservation(KEPT_KEYS, place)
  if (value === undefined || isKeyOver(value, platform.wallMs())) return undefined
  const [, fingerprint, id] = value.split(' ') as [string, string, string]
  return { id, fingerprint }
}

/** Whether the key of a stored value has expired at this wall-clock time, milliseconds. */
export function isKeyOver(value: string, nowMs: number): boolean {
  return nowMs >= Number(value.slice(0, value.indexOf(' ')))
}
