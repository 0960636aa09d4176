/**
 * Runs that share a clone take turns here, since git's own locks refuse the second one. A lock is a symbolic link that
 * names its holder, `HOST:PID`: creating one is atomic on every file system, and the lock of a killed run is ignored.
 */
import { lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { NETWORK_MS } from './git.ts'
import type { StopRequest } from './stop-request.ts'

/** How long another run may hold the lock, in milliseconds: longer than a network operation of git. */
const TURN_MS = NETWORK_MS + 2 * 60_000
export const POLL_MS = 50
/** This process, as locks name it. */
const SELF = `${hostname()}:${process.pid}`

interface Turn {
  /** The path of the lock. */
  readonly lock: string
  readonly stop: StopRequest
  /**
   * Told why no lock can be created. The action runs all the same: without write permission, git will report that
   * itself.
   */
  readonly note: (why: string) => void
}

/** Runs `act` once the lock is held, or without it if a stop is overdue. */
export async function withCloneLock<T>({ lock, stop, note }: Turn, act: () => T | Promise<T>): Promise<T> {
  try {
    while (!isTaken(lock) && !stop.isOverdue) await pause(POLL_MS)
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
