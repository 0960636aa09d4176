/** Where a runner's token lies on its own machine: a file of its own in the home folder, readable by its owner only. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeOwnerOnly } from '../storage/flush.ts'

export function runnerTokenFile(home: string, id: string): string {
  return join(home, `runner-${encodeURIComponent(id)}.token`)
}

/** Writes the token (mode 0600, also over an older file) and answers the file's path. */
export function saveRunnerToken(home: string, id: string, token: string): string {
  const file = runnerTokenFile(home, id)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeOwnerOnly(file, `${token}\n`)
  return file
}
