/**
 * A run that waits for a lock has a ticket beside it, `LOCK.NUMBER`, so that turns come in the order of arrival. Tickets
 * only give the order, and the lock alone keeps runs apart: a ticket that is lost or left over does no harm.
 */
import { lstatSync, lutimesSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { holderOf, isGone, isLinked, SELF } from './holder.ts'

/** How often a waiting run renews its ticket, in milliseconds. */
const RENEWED_MS = 5_000
/** How long a ticket counts that nobody renews (of a run on another machine that was killed), in milliseconds. */
const STALE_MS = 30_000

export class Ticket {
  readonly #lock: string
  readonly #number: number
  #renewedMs = Date.now()

  private constructor(lock: string, number: number) {
    this.#lock = lock
    this.#number = number
  }

  /** Takes the next number. Throws the machine's error if no link can be created. */
  static take(lock: string): Ticket {
    for (;;) {
      const number = Math.max(0, ...numbersAt(lock)) + 1
      if (isLinked(pathOf(lock, number))) return new Ticket(lock, number)
    }
  }

  /** How many other runs wait that came before. To be asked again and again, which renews the ticket. */
  before(): number {
    this.#renew()
    return numbersAt(this.#lock).filter((number) => number < this.#number && isWaitedFor(pathOf(this.#lock, number)))
      .length
  }

  /** No longer waits. */
  drop(): void {
    const path = pathOf(this.#lock, this.#number)
    if (holderOf(path) === SELF) rmSync(path, { force: true })
  }

  #renew(): void {
    const now = Date.now()
    if (Math.abs(now - this.#renewedMs) < RENEWED_MS) return
    this.#renewedMs = now
    const path = pathOf(this.#lock, this.#number)
    if (holderOf(path) === SELF) lutimesSync(path, new Date(now), new Date(now))
  }
}

/**
 * Removes the tickets of runs that were killed. For the lock's holder alone: of two that do so, one could remove a
 * ticket whose number was just taken again.
 */
export function clearTickets(lock: string): void {
  for (const number of numbersAt(lock)) {
    const path = pathOf(lock, number)
    if (!isWaitedFor(path)) rmSync(path, { force: true })
  }
}

function pathOf(lock: string, number: number): string {
  return `${lock}.${number}`
}

function numbersAt(lock: string): number[] {
  const beginning = `${basename(lock)}.`
  return readdirSync(dirname(lock))
    .filter((name) => name.startsWith(beginning) && /^\d+$/.test(name.slice(beginning.length)))
    .map((name) => Number(name.slice(beginning.length)))
}

function isWaitedFor(path: string): boolean {
  const holder = holderOf(path)
  if (holder === undefined || isGone(holder)) return false
  const renewedMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY
  return Date.now() - renewedMs < STALE_MS
}
