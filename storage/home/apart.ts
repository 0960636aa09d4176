/**
 * A data file of LMDB as another process reads it, which must not open the lock file beside it. Whoever opens an environment writes
 * into its lock file which transaction is the newest: as it has read it some moments before (`mdb_env_open2`, lmdb 3.5.6). Where
 * its writer has committed one meanwhile, that one is not seen any more, is built upon by nobody, and is written over by the next. A backup
 * that began beside a commit made a step stand upon a record of two steps before, and the home was refused at its next start.
 * So each gets a folder with a link to the data file, and a lock file of its own there. The writer knows nothing of what is read in it:
 * that is kept by a read transaction of the writer's own process, or by there being none.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { FOLDER_MODE } from '../files/modes.ts'
import { makeLockFile } from '../view/lmdb-view.ts'
import { DATA_FILE } from './home-paths.ts'

interface Apart {
  readonly folder: string
  remove(): void
}

/** In this folder, made anew. Throws what the file system throws. */
export function apartIn(folder: string, environment: string): Apart {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  return linked(folder, environment)
}

/** Where things are put for the moment nothing can be: no fault of what was to be looked at. */
export class TemporaryFolderFailed extends Error {
  override readonly name = 'TemporaryFolderFailed'
}

/**
 * In a folder among the system's temporary ones, with its lock file: where it is read nothing may be written. Throws
 * TemporaryFolderFailed.
 */
export function apartElsewhere(environment: string): Apart {
  let apart: Apart | undefined
  try {
    apart = linked(mkdtempSync(join(tmpdir(), 'intendant-')), environment)
    makeLockFile(apart.folder)
    return apart
  } catch (error) {
    apart?.remove()
    throw new TemporaryFolderFailed(
      `the view is read by way of a temporary folder, and none can be made in ${tmpdir()} (${(error as Error).message}): set TMPDIR to a folder that can be written, with some room`,
      { cause: error },
    )
  }
}

function linked(folder: string, environment: string): Apart {
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    symlinkSync(resolve(environment, DATA_FILE), join(folder, DATA_FILE))
  } catch (error) {
    remove()
    throw error
  }
  return { folder, remove }
}
