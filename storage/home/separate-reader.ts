/**
 * Opens an LMDB data file for another process without opening the lock file beside it. Whoever opens an environment
 * writes the newest transaction into its lock file, as read some moments before (`mdb_env_open2`, lmdb 3.5.6). If its
 * writer has committed meanwhile, that commit is no longer seen, nobody builds on it, and the next one overwrites it:
 * after a backup that began beside a commit, a step built on a record two steps older, and the home was refused at its
 * next start. So each reader gets a folder with a link to the data file and a lock file of its own. The writer does
 * not see such readers, so a read transaction in the writer's process must keep the pages they read, unless there is
 * no writer.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { FOLDER_MODE } from '../files/modes.ts'
import { makeLockFile } from '../view/lmdb-view.ts'
import { DATA_FILE } from './home-paths.ts'

interface ReaderFolder {
  readonly folder: string
  remove(): void
}

/** In this folder, which is emptied first. Throws file system errors. */
export function linkedIn(folder: string, environment: string): ReaderFolder {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  return linked(folder, environment)
}

/** No temporary folder can be created, which is no fault of the home to be read. */
export class TemporaryFolderFailed extends Error {
  override readonly name = 'TemporaryFolderFailed'
}

/**
 * In a folder under the system's temporary one, with its lock file, since nothing may be written where the data is.
 * Throws TemporaryFolderFailed.
 */
export function linkedInTemporary(environment: string): ReaderFolder {
  let reader: ReaderFolder | undefined
  try {
    reader = linked(mkdtempSync(join(tmpdir(), 'intendant-')), environment)
    makeLockFile(reader.folder)
    return reader
  } catch (error) {
    reader?.remove()
    throw new TemporaryFolderFailed(
      `reading the view needs a temporary folder, and none can be created in ${tmpdir()} (${(error as Error).message}): set TMPDIR to a writable folder with some free space`,
      { cause: error },
    )
  }
}

function linked(folder: string, environment: string): ReaderFolder {
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    symlinkSync(resolve(environment, DATA_FILE), join(folder, DATA_FILE))
  } catch (error) {
    remove()
    throw error
  }
  return { folder, remove }
}
