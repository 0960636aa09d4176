/**
 * Creates an environment's files so that a power cut meanwhile leaves nothing between new and whole. From before the
 * first data file exists until it is on disk, the folder holds the file `creating`. Nothing has been acknowledged by
 * then, so where that file is found, creation starts over.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HEAD_LAST } from '../environments.ts'
import { flushFile, flushNamesUpTo } from '../files/flush.ts'
import { makeFolder } from '../files/make-folder.ts'
import { FOLDER_MODE } from '../files/modes.ts'
import { Salvage } from '../segments/salvage.ts'
import { dataFilesOf, environmentPaths, LOCK_FILE } from './home-paths.ts'
import { HomeRefused } from './home-refused.ts'

const CREATING = 'creating'

/**
 * Whether the creation of this environment was cut short. Throws HomeRefused if its log nevertheless has commits,
 * which starting over would lose.
 */
export function isUnfinished(path: string): boolean {
  const marker = join(path, CREATING)
  if (!existsSync(marker)) return false
  if (new Salvage(path).head()[HEAD_LAST] === undefined) return true
  throw new HomeRefused(
    'corrupt',
    `${marker} says that this log was never completed, but it contains commits: if they belong to this home, remove that file`,
  )
}

/** Nothing has ever been stored in this home. */
export function isNewHome(home: string): boolean {
  const { log } = environmentPaths(home)
  return isUnfinished(log) || dataFilesOf(log).length === 0
}

export interface Creation {
  /** An unfinished creation was found and removed. */
  readonly isAgain: boolean
  /** Call when the environment is open and has been written once. */
  finish(): void
}

/** Call before opening the environment. Does nothing if it exists, unless `anew`. */
export function beginCreation(path: string, anew = false): Creation {
  const isAgain = isUnfinished(path)
  const marker = join(path, CREATING)
  if (dataFilesOf(path).length > 0 && !isAgain && !anew) return { isAgain, finish: () => {} }
  makeFolder(path, FOLDER_MODE)
  writeFileSync(marker, '')
  flushFile(path)
  flushNamesUpTo(path)
  for (const file of [...dataFilesOf(path), join(path, LOCK_FILE)]) rmSync(file, { force: true })
  return {
    isAgain,
    finish() {
      flushFile(path)
      rmSync(marker)
      flushFile(path)
    },
  }
}
