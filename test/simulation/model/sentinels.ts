/** Sentinels as the log describes them. A move that they do not have is a violation. */
import { Violation } from '../violation.ts'
import type { LoggedEvent } from './mirror.ts'

export interface SentinelModel {
  readonly name: string
  /** Minutes between its times: the only patterns here are of every so many minutes of the hour. */
  everyMinutes: number
  state: 'active' | 'paused' | 'removed'
  /** When it falls due next, by the service's clock; undefined unless it is active. */
  nextMs: number | undefined
  /** When it fell due last, as far as that counts: no time comes twice, also if the clock is set back. */
  lastMs: number
  /** How many items it has submitted since it was added. */
  fired: number
}

const EVERY = /^\*\/(\d+) \* \* \* \*$/
const MINUTE_MS = 60_000
/** How late it may fall due and still submit its item. */
const GRACE_MS = 600_000
/** A time that lies ahead by more than this was shown by a wrong clock: it may come again by itself. */
export const AHEAD_MS = 86_400_000

export class Sentinels {
  readonly byName = new Map<string, SentinelModel>()
  /** Items that they have submitted, as they said. */
  readonly items = new Set<string>()

  take(event: LoggedEvent): void {
    const { type, payload } = event
    if (!type.startsWith('sentinel_')) return
    const { sentinel: name, state, cron } = payload
    const atMs = Date.parse(event.occurredAt)
    const known = this.byName.get(name)
    if (type === 'sentinel_added') {
      if (known !== undefined && known.state !== 'removed') throw wrong(event, 'again')
      const added = { name, everyMinutes: everyOf(cron), state, lastMs: 0, fired: 0 }
      const nextMs = nextOf(everyOf(cron), atMs)
      this.byName.set(name, { ...added, nextMs })
      says(event, nextMs)
      return
    }
    if (known === undefined || known.state === 'removed') throw wrong(event, 'of a sentinel that is not there')
    if (type === 'sentinel_fired' || type === 'sentinel_skipped') this.fires(known, event, atMs)
    else {
      const isMoved = payload.changed?.some((member: string) => member !== 'item') ?? true
      known.state = state
      known.everyMinutes = everyOf(cron)
      if (state !== 'active') known.nextMs = undefined
      else if (isMoved) this.waits(known, event, atMs)
      says(event, known.nextMs)
    }
  }

  /** Resumed or changed, it forgets each time that lies ahead; by itself only one that no clock set back a little shows. */
  private waits(known: SentinelModel, event: LoggedEvent, atMs: number): void {
    const isByItself = event.payload.changed?.includes('next_at') === true
    if (known.lastMs > atMs + (isByItself ? AHEAD_MS : 0)) known.lastMs = 0
    const nextMs = nextOf(known.everyMinutes, Math.max(atMs, known.lastMs))
    if (isByItself && nextMs >= known.nextMs!) throw wrong(event, 'though it falls due no sooner')
    known.nextMs = nextMs
  }

  private fires(known: SentinelModel, event: LoggedEvent, atMs: number): void {
    const { due_at: due, item_id: item, skipped } = event.payload
    if (due !== undefined) {
      if (known.state !== 'active') throw wrong(event, `of a sentinel that is ${known.state}`)
      if (Date.parse(due) !== known.nextMs) throw wrong(event, `and not at ${known.nextMs}`)
      known.lastMs = known.nextMs
      known.nextMs = nextOf(known.everyMinutes, Math.max(atMs, known.nextMs))
    }
    says(event, known.nextMs)
    const isMissed = due !== undefined && atMs - Date.parse(due) > GRACE_MS
    if (isMissed !== (skipped === 'missed')) throw wrong(event, `though it is ${atMs - Date.parse(due)} ms late`)
    if (skipped !== undefined) return
    if (this.items.has(item)) throw wrong(event, 'with an item that was submitted before')
    this.items.add(item)
    known.fired++
  }
}

function everyOf(cron: string): number {
  return Number(EVERY.exec(cron)![1])
}

/** `everyMinutes` divides an hour, and zones here are ahead by whole hours. */
function nextOf(everyMinutes: number, afterMs: number): number {
  const everyMs = everyMinutes * MINUTE_MS
  return Math.floor(afterMs / everyMs + 1) * everyMs
}

function says(event: LoggedEvent, nextMs: number | undefined): void {
  const { next_at: next } = event.payload
  if ((next === undefined ? undefined : Date.parse(next)) !== nextMs) throw wrong(event, `and is due next at ${nextMs}`)
}

function wrong(event: LoggedEvent, why: string): Violation {
  return new Violation('legal moves', `${event.type} (event ${event.sequence}) ${why}: ${event.text}`)
}
