/**
 * Makes files and their names survive a power cut. A new file, folder or name is on disk only once the folder that
 * contains it has been flushed too.
 */
import { Buffer } from 'node:buffer'
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { FILE_MODE } from './modes.ts'
import { writeWhole } from './write-whole.ts'

/** Flushes what was written to the file, or the names in the folder. */
export function flushFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Errors for a folder that this process cannot have created: it may not read it, or nothing can be written there. */
const NOT_OURS: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS']

/** Flushes the folder's own name and those of the folders above it. Throws if a flush fails. */
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

/** Writes a file that only its owner may read; it is on disk when this returns. Throws file system errors. */
export function writeOwnerOnly(path: string, text: string): void {
  const file = openSync(path, 'w', FILE_MODE)
  try {
    // An existing file would keep its mode.
    fchmodSync(file, FILE_MODE)
    writeWhole(file, Buffer.from(text), 0)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  flushFile(dirname(path))
}

/** The same, replacing the file as a whole: at any moment, its name is that of the old content or of the new. */
export function replaceOwnerOnly(path: string, text: string): void {
  const next = `${path}.next`
  writeOwnerOnly(next, text)
  renameSync(next, path)
  flushFile(dirname(path))
}
