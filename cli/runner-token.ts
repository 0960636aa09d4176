/**
 * Where a runner's token lies on its own machine: a file of its own in the home folder, readable by its owner only. The
 * service tells a token once, so that it is asked for when there is a place to write it to.
 */
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '../engine/errors.ts'
import { writeOwnerOnly } from '../storage/files/flush.ts'
import { FILE_MODE, FOLDER_MODE } from '../storage/files/modes.ts'
import { CliFailure, EXIT } from './exit.ts'

export function runnerTokenFile(home: string, id: string): string {
  return join(home, `runner-${encodeURIComponent(id)}.token`)
}

interface Saving {
  readonly home: string
  /** The runner. */
  readonly id: string
  /** What the service has done once it has answered, as the beginning of a sentence. */
  readonly done: string
}

interface Saved {
  /** What the service has answered, with the token in it. */
  readonly body: Record<string, any>
  /** Where the token lies now; undefined: the answer has none in it. */
  readonly file: string | undefined
}

/**
 * Asks the service for a token and writes it down (mode 0600, also over an older file). Throws CliFailure before it asks where the
 * file cannot be written, and with the way to another token where it could not be after all; and what `ask` throws.
 */
export async function askAndSave(
  { home, id, done }: Saving,
  ask: () => Promise<{ readonly body: Record<string, any> }>,
): Promise<Saved> {
  const file = runnerTokenFile(home, id)
  const isNew = makePlace(home, id)
  let body: Record<string, any> = {}
  try {
    body = (await ask()).body
  } finally {
    // Nothing was given that belongs there.
    if (isNew && typeof body.token !== 'string') rmSync(file, { force: true })
  }
  if (typeof body.token !== 'string') return { body, file: undefined }
  try {
    writeOwnerOnly(file, `${body.token}\n`)
  } catch (error) {
    const message = `${done}, and it could not be written to ${file} (${describeError(error)}).`
    const way = `The service does not tell it again. Get another with:\n  intendant runner token ${id} --save-token`
    throw new CliFailure(`${message}\n${way}`, EXIT.failed, error)
  }
  return { body, file }
}

/** Whether the file was not there before; what is in it stays. */
function makePlace(home: string, id: string): boolean {
  const file = runnerTokenFile(home, id)
  try {
    mkdirSync(home, { recursive: true, mode: FOLDER_MODE })
    return opens(file, 'ax') || !opens(file, 'a')
  } catch (error) {
    const message = `the token of runner ${id} cannot be written to ${file} (${describeError(error)})`
    throw new CliFailure(`${message}: the service was not asked for one.`, EXIT.failed, error)
  }
}

/** False: it is there already, and was to be new. */
function opens(file: string, flags: 'a' | 'ax'): boolean {
  try {
    closeSync(openSync(file, flags, FILE_MODE))
    return true
  } catch (error) {
    if (flags === 'ax' && (error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
