/**
 * Runs that share a clone take turns here, since git's own locks refuse the second one. A lock is a symbolic link that
 * names its holder, `HOST:PID`: creating one is atomic on every file system, and the lock of a killed run is ignored.
 */
import { lstatSync, lutimesSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { NETWORK_MS } from './git.ts'

/** How long another run may hold a lock, in milliseconds: longer than a network operation of git. */
export const TURN_MS = NETWORK_MS + 2 * 60_000
export const POLL_MS = 50
/** This process, as locks name it. */
const SELF = `${hostname()}:${process.pid}`

interface Turn {
  /** The path of the lock. */
  readonly lock: string
  /** How much longer than a network operation `act` may take, in milliseconds: the lock's time is set ahead by that. */
  readonly moreMs?: number
  /** Whether not to wait any more. The action then runs all the same. */
  readonly isOver: () => boolean
  /**
   * Told why no lock can be created. The action runs all the same: without write permission, git will report that
   * itself.
   */
  readonly note: (why: string) => void
}

/** Runs `act` once the lock is held, or without it if the wait is over. */
export async function withCloneLock<T>(
  { lock, moreMs = 0, isOver, note }: Turn,
  act: () => T | Promise<T>,
): Promise<T> {
  try {
    while (!isTaken(lock) && !isOver()) await pause(POLL_MS)
    if (moreMs > 0 && holderOf(lock) === SELF) lutimesSync(lock, new Date(), new Date(Date.now() + moreMs))
  } catch (error) {
    note((error as Error).message)
  }
  try {
    return await act()
  } finally {
    if (holderOf(lock) === SELF) rmSync(lock, { force: true })
  }
}

/**
 * Tries to take the lock. To replace the lock of a killed run a second lock is needed, and the first is checked again
 * then: of two runs that saw the dead lock, the second would otherwise take the new lock of the first.
 */
function isTaken(lock: string): boolean {
  try {
    symlinkSync(SELF, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
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
  // Process ids repeat in a restarted container: whoever had ours is gone.
  if (holder === SELF) return true
  const [host, pid] = holder.split(':')
  if (host === hostname() && !lives(Number(pid))) return true
  const since = lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - since > TURN_MS
}

/** Undefined if nobody holds it any more. */
function holderOf(lock: string): string | undefined {
  try {
    return readlinkSync(lock)
  } catch {
    return undefined
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
