/** Paths and file names of a home and its two environments. */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** LMDB's name for the file that holds an environment: the view's, and up to schema 2 the log's. */
export const DATA_FILE = 'data.mdb'
/** LMDB's table of readers, needed only while the environment is open. */
export const LOCK_FILE = 'lock.mdb'

/** Whether something is there. Throws file system errors: what may not be looked at is not absent. */
export const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** Paths of the two environments in a home. */
export function environmentPaths(home: string): { readonly log: string; readonly view: string } {
  return { log: join(home, 'log'), view: join(home, 'view') }
}

/** Where a process that copies the view reads it (storage/home/separate-reader.ts). */
export const readingPath = (view: string): string => join(dirname(view), 'reading')

/** The copy that an unfinished restore is working on. */
export const restoringPath = (home: string): string => join(home, 'restoring')

/** The token that may do everything; only its owner may read it. */
export const adminTokenPath = (home: string): string => join(home, 'admin.token')

/** The key for the tokens of runs, for the owner alone; part of no copy of a home that the service makes. */
export const runKeyPath = (home: string): string => join(home, 'run-tokens.key')

/** Where the running service puts its backups. */
export const backupsPath = (home: string): string => join(home, 'backups')

const SEGMENT_NAME = /^\d{10}\.segment$/
const SEGMENT_DIGITS = 10

/** The files of a log are numbered from 1, without gaps. */
export const segmentPath = (log: string, ordinal: number): string =>
  join(log, `${String(ordinal).padStart(SEGMENT_DIGITS, '0')}.segment`)

/** Ordinals of a log's files, ascending. */
export function segmentsIn(log: string): number[] {
  const names = readdirSync(log).filter((name) => SEGMENT_NAME.test(name))
  return names.map((name) => Number.parseInt(name, 10)).sort((one, other) => one - other)
}

/** Paths of an environment's data files; none if the folder does not exist. Throws file system errors. */
export function dataFilesOf(environment: string): string[] {
  if (!isThere(environment)) return []
  const names = readdirSync(environment).filter((name) => name === DATA_FILE || SEGMENT_NAME.test(name))
  return names.sort().map((name) => join(environment, name))
}

/** Their total size, bytes. A file that vanishes meanwhile counts as nothing. */
export function bytesOf(environment: string): number {
  return dataFilesOf(environment).reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
}
