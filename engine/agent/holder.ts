/**
 * Which run holds a lock or a ticket: both are symbolic links that name its process, `HOST:PID:STARTED`. Creating one is
 * atomic on every file system.
 */
import { readlinkSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { statusOf } from '../process-status.ts'

/** This process, as links name it. When it started is empty where the system does not say. */
export const SELF = [hostname(), process.pid, statusOf(process.pid)?.startedAt].join(':')

/**
 * Creates a link that names this process, or says what is given; returns false if there is one at that path. Throws the
 * machine's error.
 */
export function isLinked(path: string, says = SELF): boolean {
  try {
    symlinkSync(says, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

/** Undefined if there is no such link any more. */
export function holderOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/**
 * Whether the process that a link names is known to have ended, for links found here. Process ids repeat, above all in
 * a restarted container: whoever had ours is gone. Of a process on another machine nothing is known.
 */
export function isGone(holder: string): boolean {
  if (holder === SELF) return true
  const [host, pid, startedAt = ''] = holder.split(':')
  if (host !== hostname()) return false
  const status = statusOf(Number(pid))
  if (status === undefined) return !lives(Number(pid))
  return /[ZX]/.test(status.state) || (startedAt !== '' && startedAt !== status.startedAt)
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
