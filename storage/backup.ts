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
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { environmentPaths, HEAD_EPOCH, MARKER, type Marker, openEnvironments } from './environments.ts'
import { assertSchema, mintEpoch } from './event-log.ts'
import { assertWhole, DATA_FILE, damaged } from './home-checks.ts'
import { HomeRefused } from './home-refused.ts'
import { lockInstance } from './instance-lock.ts'
import type { LmdbJournal } from './lmdb-journal.ts'

const GROWTH_CHECK_MS = 100
const DIRECTORY_MODE = 0o700
/** In a home: the copy that a restore is not done with. */
const RESTORING = 'restoring'

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
 * Copies both environments into `directory`, which must be absent or empty, and is there only once it is whole: until
 * then the copy grows in a folder beside it, which the next backup of this log removes should this one be killed.
 * Copying pins what the copy reads, so the log grows meanwhile: past `growthBytesMax` the backup is given up.
 * Rejects with HomeRefused, BackupAborted.
 */
export function backup(journal: LmdbJournal, directory: string, growthBytesMax: number): Promise<BackupReport> {
  return journal.whileRedoKept(async (releaseRedo) => {
    assertEmpty(directory)
    const parent = dirname(directory)
    const unfinished = join(parent, `unfinished-${journal.epoch}`)
    const paths = environmentPaths(unfinished)
    rmSync(unfinished, { recursive: true, force: true })
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
      for (const path of [paths.log, paths.view, unfinished]) flush(path)
      const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
      renameSync(unfinished, directory)
      flush(parent)
      return { directory, bytes, sequence }
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true })
      throw error
    } finally {
      clearInterval(watch)
    }
  })
}

/**
 * Makes a home, empty or absent, from a backup, offline, with a fresh epoch. What the restored state means (attempts to
 * raise, runs to declare lost) is for those who know the machines: `settle` gets the copy as a home of its own, in a
 * folder of `toHome` that no service looks at. Only when it is done does the home have a log and a view, so that a
 * restore that is killed half way is never served. Throws HomeRefused, and what `settle` throws; the home is then as it was.
 */
export async function restoreFiles(
  from: string,
  toHome: string,
  settle: (home: string) => Promise<void> = async () => {},
): Promise<{ epoch: string; previousEpoch: string }> {
  const source = environmentPaths(from)
  for (const path of [source.log, source.view]) {
    if (!existsSync(join(path, DATA_FILE))) throw new HomeRefused('corrupt', `${from} is no backup: ${path} is missing`)
  }
  assertWhole(from)
  assertEmpty(toHome, RESTORING)
  const lock = await lockInstance(toHome)
  const draft = join(toHome, RESTORING)
  try {
    rmSync(draft, { recursive: true, force: true })
    const made = environmentPaths(draft)
    for (const path of [made.log, made.view]) mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE })
    for (const part of ['view', 'log'] as const) {
      copyFileSync(join(source[part], DATA_FILE), join(made[part], DATA_FILE))
    }
    const epochs = await giveFreshEpoch(draft)
    await settle(draft)
    for (const path of [made.log, made.view]) flush(join(path, DATA_FILE))
    const target = environmentPaths(toHome)
    // The log last: a view alone is refused at start, and says why.
    for (const part of ['view', 'log'] as const) renameSync(made[part], target[part])
    flush(toHome)
    return epochs
  } catch (error) {
    throw damaged(from, error)
  } finally {
    rmSync(draft, { recursive: true, force: true })
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

/** `except`: what a restore that was killed may have left. */
function assertEmpty(directory: string, except?: string): void {
  if (existsSync(directory) && readdirSync(directory).some((name) => name !== except)) {
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
