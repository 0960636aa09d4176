/**
 * Files in which a command notes how far it has come, so that the next one continues there. A file is replaced as a whole: it
 * holds the last note or the one before, never a part. Only its owner may read it (mode 0600).
 */
import { readFileSync } from 'node:fs'
import { describeError } from '../engine/errors.ts'
import { replaceOwnerOnly } from '../storage/files/flush.ts'
import { CliFailure, EXIT } from './exit.ts'

/** Its text; undefined if it does not exist. Throws CliFailure. */
export function keptIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CliFailure(`${file} cannot be read: ${describeError(error)}.`, EXIT.usage, error)
  }
}

/** It is on disk when this returns. Throws CliFailure. */
export function keep(file: string, text: string): void {
  try {
    replaceOwnerOnly(file, text)
  } catch (error) {
    throw new CliFailure(`${file} cannot be written: ${describeError(error)}.`, EXIT.failed, error)
  }
}
