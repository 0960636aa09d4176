/**
 * Which process a worktree belongs to, as the reason of git's own lock on it (`locked` in git's folder of the worktree,
 * gitrepository-layout(5)). Once that process is gone, the next run takes the worktree over; one without such a reason
 * is left to people. Only on Linux: elsewhere nothing says whether a process is still at work there.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, sep } from 'node:path'
import { statusOf } from '../process-status.ts'

/** What is to become of a worktree's work if its process is killed. */
export interface Unsaved {
  /** The branch on which the changes are to be kept; while the work lands, they are there already. */
  readonly branch: string
  /** The commit at which the run began; while the work lands, the commit that lands. */
  readonly from: string
  readonly isLanding?: boolean
}

const MARK = 'intendant'
const LANDING = 'landing'
/** The processes that this one can see: ids mean nothing elsewhere (in another container, or the same started anew). */
const NAMESPACE = '/proc/self/ns/pid'
/** What tells machines of one name apart: the first of these that says something. */
const MACHINE = ['/etc/machine-id', '/proc/sys/kernel/random/boot_id']

const lockOf = (gitFolder: string): string => join(gitFolder, 'locked')

/** Makes the worktree this process's. */
export function own(gitFolder: string, unsaved: Unsaved | undefined): void {
  const self = statusOf(process.pid)
  const here = whereProcessesAre()
  if (self === undefined || here === undefined) return
  const left = unsaved ? [unsaved.branch, unsaved.from, ...(unsaved.isLanding ? [LANDING] : [])] : []
  writeFileSync(lockOf(gitFolder), [MARK, here, process.pid, self.startedAt, ...left].join(' '))
}

/** Leaves the worktree to people. */
export function disown(gitFolder: string): void {
  rmSync(lockOf(gitFolder), { force: true })
}

/** What is unsaved in a worktree whose process is gone; null if that may live, or it belongs to none or another user. */
export function leftIn(gitFolder: string): Unsaved | undefined | null {
  const lock = lockOf(gitFolder)
  const reason = textOf(lock)
  // Of another user's, neither the folder nor who works there can be seen.
  if (reason === '' || statSync(lock).uid !== process.geteuid!()) return null
  const [mark, host, namespace, pid, startedAt, branch, from, stage] = reason.split(' ')
  if (mark !== MARK || `${host} ${namespace}` !== whereProcessesAre()) return null
  const status = statusOf(Number(pid))
  if (status?.startedAt === startedAt && !/[ZX]/.test(status?.state ?? '')) return null
  return branch === undefined || from === undefined ? undefined : { branch, from, isLanding: stage === LANDING }
}

/** Whether a process works in the folder, such as an agent that has outlived its run; true where nothing says so. */
export function isWorkedIn(folder: string): boolean {
  if (statusOf(process.pid) === undefined) return true
  const within = realpathSync(folder)
  return readdirSync('/proc').some((entry) => {
    const place = /^\d+$/.test(entry) ? folderOf(entry) : undefined
    return place === within || place?.startsWith(within + sep) === true
  })
}

function folderOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // It has ended, or belongs to another user.
    return undefined
  }
}

/** Undefined where the system does not say. */
export function whereProcessesAre(): string | undefined {
  try {
    const machine = MACHINE.map(textOf).find((text) => text !== '')
    return `${hostname()}:${machine} ${readlinkSync(NAMESPACE)}`
  } catch {
    return undefined
  }
}

/** Empty if there is no such file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch {
    return ''
  }
}
