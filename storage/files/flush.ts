/**
 * What makes files and their names survive a power cut. A new file, a new folder and a new name are on disk only when
 * the folder that they are in was flushed, too.
 */
import { Buffer } from 'node:buffer'
import { closeSync, fchmodSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { FILE_MODE } from './modes.ts'
import { writeWhole } from './write-whole.ts'

/** What was written to the file, or the names in the folder, are on disk. */
export function flushFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** What the system says of a folder that this process cannot have made: it may not read it, or nothing can be written there. */
const NOT_OURS: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS']

/** The folder's own name is on disk, and those of the folders that it is in. Throws what the file system says of a flush that failed. */
export function flushNamesUpTo(path: string): void {
  for (let at = path; dirname(at) !== at; at = dirname(at)) {
    try {
      flushFile(dirname(at))
    } catch (error) {
      if (NOT_OURS.includes((error as NodeJS.ErrnoException).code)) return
      throw error
    }
  }
}

/** Writes a secret for its owner alone; it is on disk when this returns. Throws what the file system throws. */
export function writeOwnerOnly(path: string, text: string): void {
  const file = openSync(path, 'w', FILE_MODE)
  try {
    // A file that was there keeps its mode otherwise.
    fchmodSync(file, FILE_MODE)
    writeWhole(file, Buffer.from(text), 0)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  flushFile(dirname(path))
}
