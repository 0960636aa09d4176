/**
 * Files in which a command notes how far it has come, so that the next one continues there. A file is replaced as a whole, so that it
 * holds the last note or the one before, never a part; or a line is added, of which a crash may leave a part. Only its owner may read it (mode 0600).
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { describeError } from '../engine/errors.ts'
import { flushFile, replaceOwnerOnly } from '../storage/files/flush.ts'
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
  written(file, () => replaceOwnerOnly(file, text))
}

/** Adds to it; likewise. */
export function keepMore(file: string, text: string): void {
  written(file, () => {
    appendFileSync(file, text)
    flushFile(file)
  })
}

function written(file: string, write: () => void): void {
  try {
    write()
  } catch (error) {
    throw new CliFailure(`${file} cannot be written: ${describeError(error)}.`, EXIT.failed, error)
  }
}
