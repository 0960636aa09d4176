/** Lists of recorded events: what they are narrowed to, and how they grow. Newest first. */
import type { Document } from './document.ts'

/** Watch's filters (docs/EVENTS.md); several values are separated by commas. */
export type Filter = Readonly<Record<string, string | undefined>>

/** A list without gaps. */
export interface Shown {
  readonly events: readonly Document[]
  /** Where older ones begin; absent: there are none, or they are not joined to these any more. */
  readonly next?: string
  /** Older ones have been left out, to make room. */
  readonly isCut?: true
  /** Events kept at most. */
  readonly room: number
}

/** The events with newer ones before them; the oldest go when there is no room. */
export function withNewer(shown: Shown, newer: readonly Document[]): Shown {
  const events = [...newer, ...shown.events]
  if (events.length <= shown.room) return { ...shown, events }
  return { events: events.slice(0, shown.room), room: shown.room, isCut: true }
}
