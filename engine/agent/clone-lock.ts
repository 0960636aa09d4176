/**
 * Runs that share a clone take turns here, in the order in which they came (`ticket.ts`), since git's own locks refuse
 * the second one. The lock of a killed run is ignored.
 */
import { lstatSync, lutimesSync, renameSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { NETWORK_MS } from './git.ts'
import { holderOf, isGone, isLinked, SELF } from './holder.ts'
import { clearTickets, Ticket } from './ticket.ts'

/** How long another run may hold a lock, in milliseconds: longer than a network operation of git. */
export const TURN_MS = NETWORK_MS + 2 * 60_000
export const POLL_MS = 50

export interface Turn {
  /** The path of the lock. */
  readonly lock: string
  /** How much longer than a network operation `act` may take, in milliseconds: the lock's time is set ahead by that. */
  readonly moreMs?: number
  /** Whether not to wait any more. The action then runs all the same. */
  readonly isOver: () => boolean
  /** Told again and again while it waits, with the number of runs whose turn comes first. */
  readonly onWait?: (others: number) => void
  /**
   * Told why no lock can be created. The action runs all the same: without write permission, git will report that
   * itself.
   */
  readonly note: (why: string) => void
}

/** Runs `act` once the lock is held, or without it if the wait is over; it is told whether the lock is held. */
export async function withCloneLock<T>(turn: Turn, act: (isHeld: boolean) => T | Promise<T>): Promise<T> {
  const { lock, moreMs = 0, note } = turn
  try {
    await waitFor(turn)
    if (moreMs > 0 && holderOf(lock) === SELF) lutimesSync(lock, new Date(), new Date(Date.now() + moreMs))
  } catch (error) {
    note((error as Error).message)
  }
  try {
    return await act(holderOf(lock) === SELF)
  } finally {
    if (holderOf(lock) === SELF) giveBack(turn)
  }
}

async function waitFor({ lock, isOver, onWait }: Turn): Promise<void> {
  const ticket = Ticket.take(lock)
  try {
    for (;;) {
      const before = ticket.before()
      if ((before === 0 && isTaken(lock)) || isOver()) return
      onWait?.(before + 1)
      await pause(POLL_MS)
    }
  } finally {
    ticket.drop()
  }
}

function giveBack({ lock, note }: Turn): void {
  try {
    clearTickets(lock)
  } catch (error) {
    note((error as Error).message)
  }
  rmSync(lock, { force: true })
}

/**
 * Tries to take the lock. To replace the lock of a killed run a second lock is needed, and the first is checked again
 * then: of two runs that saw the dead lock, the second would otherwise take the new lock of the first.
 */
function isTaken(lock: string): boolean {
  if (isLinked(lock)) return true
  const heir = `${lock}.next`
  if (!isLeft(lock) || !isTaken(heir)) return false
  const isOurs = isLeft(lock)
  if (isOurs) renameSync(heir, lock)
  else rmSync(heir, { force: true })
  return isOurs
}

/** Whether the holder was killed, or has held the lock for too long. */
function isLeft(lock: string): boolean {
  const holder = holderOf(lock)
  if (holder === undefined) return false
  if (isGone(holder)) return true
  const since = lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - since > TURN_MS
}
