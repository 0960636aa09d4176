/** Where the two environments lie in a home, and in which files. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** LMDB's own name for the file with all that an environment holds: the view's, and the log's up to schema 2. */
export const DATA_FILE = 'data.mdb'
/** LMDB's file of readers: of no use to anybody but who has it open. */
export const LOCK_FILE = 'lock.mdb'

/** Paths of the two environments in a home. */
export function environmentPaths(home: string): { readonly log: string; readonly view: string } {
  return { log: join(home, 'log'), view: join(home, 'view') }
}

/** Where a copy of the view, an environment of a home, reads it (storage/home/apart.ts). */
export const readingPath = (view: string): string => join(dirname(view), 'reading')

/** In a home: the copy that a restore is not done with. */
export const restoringPath = (home: string): string => join(home, 'restoring')

/** The token of whoever may do everything, for its owner alone. */
export const adminTokenPath = (home: string): string => join(home, 'admin.token')

/** Where the backups go that the running service makes. */
export const backupsPath = (home: string): string => join(home, 'backups')

const SEGMENT_NAME = /^\d{10}\.segment$/
const SEGMENT_DIGITS = 10

/** The files of a log are numbered from 1, without a hole. */
export const segmentPath = (log: string, ordinal: number): string =>
  join(log, `${String(ordinal).padStart(SEGMENT_DIGITS, '0')}.segment`)

/** The numbers of the files of a log, ascending. */
export function segmentsIn(log: string): number[] {
  const names = readdirSync(log).filter((name) => SEGMENT_NAME.test(name))
  return names.map((name) => Number.parseInt(name, 10)).sort((one, other) => one - other)
}

/** The files of an environment that hold what it keeps, as paths; none where there is no such folder. */
export function dataFilesOf(environment: string): string[] {
  if (!existsSync(environment)) return []
  const names = readdirSync(environment).filter((name) => name === DATA_FILE || SEGMENT_NAME.test(name))
  return names.sort().map((name) => join(environment, name))
}

/** Their size, bytes. One that goes meanwhile counts for nothing. */
export function bytesOf(environment: string): number {
  return dataFilesOf(environment).reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
}
