/**
 * What runs that share a clone do one at a time, since git's own locks refuse whoever comes second. A lock is a symbolic link that
 * names who has it, `HOST:PID`: to make one is atomic on every file system, and one of a run that was killed counts for nothing.
 */
import { lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { LINE_MS } from './git.ts'
import type { StopRequest } from './stop-request.ts'

/** How long another run may have its turn, milliseconds: more than git may take over a line. */
const TURN_MS = LINE_MS + 2 * 60_000
export const LOOK_MS = 50
/** This process, as a lock names it. */
const SELF = `${hostname()}:${process.pid}`

interface Turn {
  /** The path of the lock. */
  readonly lock: string
  readonly stop: StopRequest
  /** Told why no turn can be taken: whoever may not write there is told so by git, too, and is not held up. */
  readonly note: (why: string) => void
}

/** Does it in its turn, or behind a stop that is overdue without one. */
export async function inTurn<T>({ lock, stop, note }: Turn, act: () => T | Promise<T>): Promise<T> {
  try {
    while (!isTaken(lock) && !stop.isOverdue) await pause(LOOK_MS)
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
 * Whether the turn is ours now. Who takes the place of one that was killed has a turn for that, too, and looks again then: of two
 * that saw it, the second would take the lock of the first.
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

/** Who had it was killed, or has had it for too long. */
function isLeft(lock: string): boolean {
  const holder = holderOf(lock)
  if (holder === undefined) return false
  // In a container that was started again numbers of processes come again: who had ours is gone.
  if (holder === SELF) return true
  const [host, pid] = holder.split(':')
  if (host === hostname() && !lives(Number(pid))) return true
  const since = lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - since > TURN_MS
}

/** Undefined: nobody has it any more. */
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
