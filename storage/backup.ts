/**
 * Backup of a running journal, and the way back. The view is copied first and the log second, while no redo is
 * trimmed, so that the copied log always reaches back to the copied view. Files come back as another log: with
 * a fresh epoch, so that no cursor of the lost one matches.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { environmentPaths, HEAD_EPOCH, MARKER, type Marker, openEnvironments } from './environments.ts'
import { assertSchema, mintEpoch } from './event-log.ts'
import { HomeRefused } from './home-refused.ts'
import { lockInstance } from './instance-lock.ts'
import type { LmdbJournal } from './lmdb-journal.ts'

const GROWTH_CHECK_MS = 100
const DATA_FILE = 'data.mdb'
const DIRECTORY_MODE = 0o700

/** The log grew past the bound while it was copied; what was copied is removed. Try when less is written. */
export class BackupAborted extends Error {
  override readonly name = 'BackupAborted'
}

export interface BackupReport {
  readonly directory: string
  readonly bytes: number
  /** Last event sequence that the backup is sure to hold. */
  readonly sequence: number
}

/**
 * Copies both environments into `directory`, which must be absent or empty. Copying pins what the copy reads, so
 * the log grows meanwhile: past `growthBytesMax` the backup is given up. Rejects with HomeRefused, BackupAborted.
 */
export function backup(journal: LmdbJournal, directory: string, growthBytesMax: number): Promise<BackupReport> {
  assertEmpty(directory)
  return journal.whileRedoKept(async (releaseRedo) => {
    const paths = environmentPaths(directory)
    for (const path of [paths.log, paths.view]) mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE })
    const logFile = join(environmentPaths(journal.home).log, DATA_FILE)
    const bytesBefore = statSync(logFile).size
    let grown = false
    const look = () => {
      grown ||= statSync(logFile).size - bytesBefore > growthBytesMax
      if (grown) releaseRedo()
      return grown
    }
    const watch = setInterval(look, GROWTH_CHECK_MS)
    try {
      await journal.environments.view.env.backup(paths.view, true)
      const sequence = journal.lastSequence
      if (!look()) await journal.environments.log.env.backup(paths.log, true)
      if (look()) throw new BackupAborted(`the log grew by more than ${growthBytesMax} bytes during the backup`)
      const files = [paths.log, paths.view].map((path) => join(path, DATA_FILE))
      for (const file of files) flush(file)
      for (const path of [paths.log, paths.view, directory]) flush(path)
      return { directory, bytes: files.reduce((sum, file) => sum + statSync(file).size, 0), sequence }
    } catch (error) {
      for (const path of [paths.log, paths.view]) rmSync(path, { recursive: true, force: true })
      throw error
    } finally {
      clearInterval(watch)
    }
  })
}

/**
 * Copies a backup into an empty home, offline, and gives the log a fresh epoch. What the restored state means
 * (attempts to raise, runs to declare lost) is for those who know the machines. Throws HomeRefused.
 */
export async function restoreFiles(from: string, toHome: string): Promise<{ epoch: string; previousEpoch: string }> {
  const source = environmentPaths(from)
  for (const path of [source.log, source.view]) {
    if (!existsSync(join(path, DATA_FILE))) throw new HomeRefused('corrupt', `${from} is no backup: ${path} is missing`)
  }
  assertEmpty(toHome)
  const lock = await lockInstance(toHome)
  try {
    const target = environmentPaths(toHome)
    for (const path of [target.log, target.view]) mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE })
    // The log last: a view alone is refused at start, and says why.
    copyFileSync(join(source.view, DATA_FILE), join(target.view, DATA_FILE))
    copyFileSync(join(source.log, DATA_FILE), join(target.log, DATA_FILE))
    return await giveFreshEpoch(toHome)
  } finally {
    await lock.release()
  }
}

async function giveFreshEpoch(home: string): Promise<{ epoch: string; previousEpoch: string }> {
  const { log, view, close } = await openEnvironments(home, (head) => assertSchema(head, home))
  try {
    const epoch = mintEpoch()
    const previousEpoch = log.head.get(HEAD_EPOCH)
    const marker = view.marker.get(MARKER)
    if (previousEpoch === undefined || marker === undefined) throw new HomeRefused('corrupt', `${home} is no backup`)
    log.env.transactionSync(() => {
      log.head.put(HEAD_EPOCH, epoch)
    })
    await view.marker.put(MARKER, JSON.stringify({ ...(JSON.parse(marker) as Marker), epoch }))
    return { epoch, previousEpoch }
  } finally {
    await close()
  }
}

function assertEmpty(directory: string): void {
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new HomeRefused('not_empty', `${directory} is not empty: choose a directory that is empty or absent`)
  }
}

function flush(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
