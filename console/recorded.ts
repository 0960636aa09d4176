/** Lists of recorded events: which of them belong to one, and how it grows. Newest first. */
import { PAYLOAD_FIELDS } from '../machines/events/watched-fields.ts'
import type { Document } from './document.ts'

/** Watch's filters (docs/EVENTS.md); several values are separated by commas. */
export type Filter = Readonly<Record<string, string | undefined>>

/** Whether the filter admits the event: the service's rule, for what the unfiltered stream tells. */
export function admits(filter: Filter, event: Document): boolean {
  return Object.entries(filter).every(([name, values]) => {
    if (values === undefined || values === '') return true
    const holder = (PAYLOAD_FIELDS as readonly string[]).includes(name) ? event.payload : event
    return Object.hasOwn(holder, name) && values.split(',').includes(holder[name])
  })
}

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
