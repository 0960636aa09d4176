/**
 * The making of an environment's files, so that a power cut in the midst of it leaves nothing that is neither new nor
 * whole. From before the first data file is there until it is on disk, its folder holds the file `creating`; nothing was
 * acknowledged by then, so where that file is found the making begins anew.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HEAD_LAST } from '../environments.ts'
import { flushFile, flushNamesUpTo } from '../files/flush.ts'
import { FOLDER_MODE } from '../files/modes.ts'
import { Salvage } from '../segments/salvage.ts'
import { dataFilesOf, environmentPaths, LOCK_FILE } from './home-paths.ts'
import { HomeRefused } from './home-refused.ts'

const CREATING = 'creating'

/** The making of this environment was cut short. Throws HomeRefused where that is said of a log with commits: it would be lost. */
export function isUnfinished(path: string): boolean {
  const marker = join(path, CREATING)
  if (!existsSync(marker)) return false
  if (new Salvage(path).head()[HEAD_LAST] === undefined) return true
  throw new HomeRefused(
    'corrupt',
    `${marker} says that this log was never finished, and there are commits in it: where they are this home's, remove that file`,
  )
}

/** Nothing was ever kept in this home. */
export function isNewHome(home: string): boolean {
  const { log } = environmentPaths(home)
  return isUnfinished(log) || dataFilesOf(log).length === 0
}

export interface Creation {
  /** What was found was the beginning of another one, and is gone. */
  readonly isAgain: boolean
  /** The environment is open and was written once. */
  finish(): void
}

/** Call before the environment is opened. Does nothing where there is one, unless it is to be made anew with another. */
export function beginCreation(path: string, anew = false): Creation {
  const isAgain = isUnfinished(path)
  const marker = join(path, CREATING)
  if (dataFilesOf(path).length > 0 && !isAgain && !anew) return { isAgain, finish: () => {} }
  mkdirSync(path, { recursive: true, mode: FOLDER_MODE })
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
