/**
 * Where a runner's token is stored on its machine: a file in the home folder, readable by its owner only. The service
 * shows a token once, so the file is prepared before the token is requested.
 */
import { closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '../engine/errors.ts'
import { writeOwnerOnly } from '../storage/files/flush.ts'
import { makeFolder } from '../storage/files/make-folder.ts'
import { FILE_MODE, FOLDER_MODE } from '../storage/files/modes.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'

export function runnerTokenFile(home: string, id: string): string {
  return join(home, `runner-${encodeURIComponent(id)}.token`)
}

interface Saving {
  readonly home: string
  /** The runner's id. */
  readonly id: string
  /** What the service has done once it has answered, as the beginning of a sentence. */
  readonly done: string
}

interface Saved {
  /** The service's answer, with the token. */
  readonly body: Document
  /** Where the token is stored; undefined if the answer contains none. */
  readonly file: string | undefined
}

/**
 * Requests a token and stores it (mode 0600, replacing an older file). Throws CliFailure before the request if the file
 * cannot be written, or afterwards, with the way to get another token, if writing fails all the same; and whatever
 * `ask` throws.
 */
export async function askAndSave(
  { home, id, done }: Saving,
  ask: () => Promise<{ readonly body: Document }>,
): Promise<Saved> {
  const file = runnerTokenFile(home, id)
  const isNew = makePlace(home, id)
  let body: Document = {}
  try {
    body = (await ask()).body
  } finally {
    // No token was issued, so the new file is removed.
    if (isNew && typeof body.token !== 'string') rmSync(file, { force: true })
  }
  if (typeof body.token !== 'string') return { body, file: undefined }
  try {
    writeOwnerOnly(file, `${body.token}\n`)
  } catch (error) {
    const message = `${done}, but it could not be written to ${file} (${describeError(error)}).`
    const way = `The service does not show it again. Get another with:\n  intendant runner token ${id} --save-token`
    throw new CliFailure(`${message}\n${way}`, EXIT.failed, error)
  }
  return { body, file }
}

/** Makes sure that the file can be written, keeping its content. Returns whether it is new. */
function makePlace(home: string, id: string): boolean {
  const file = runnerTokenFile(home, id)
  try {
    makeFolder(home, FOLDER_MODE)
    return opens(file, 'ax') || !opens(file, 'a')
  } catch (error) {
    const message = `the token of runner ${id} cannot be written to ${file} (${describeError(error)})`
    throw new CliFailure(`${message}; none was requested from the service.`, EXIT.failed, error)
  }
}

/** Returns false if the file exists and was to be new. */
function opens(file: string, flags: 'a' | 'ax'): boolean {
  try {
    closeSync(openSync(file, flags, FILE_MODE))
    return true
  } catch (error) {
    if (flags === 'ax' && (error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
