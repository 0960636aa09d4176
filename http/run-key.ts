/**
 * The key from which the tokens of runs are derived: 32 random bytes in `run-tokens.key` in the home, for its owner
 * alone. It is in no backup and no export, so that what these hold lets nobody in: a restored home makes its own.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { RunKeyFailure, type RunKeyStore } from '../runtime/access/run-tokens.ts'
import { replaceOwnerOnly } from '../storage/files/flush.ts'
import { asHomeRefused } from '../storage/home/home-checks.ts'
import { runKeyPath } from '../storage/home/home-paths.ts'
import { HomeRefused } from '../storage/home/home-refused.ts'

const KEY_BYTES = 32
/** The bytes in base64url, and the end of the line. */
const KEY_TEXT = /^[A-Za-z0-9_-]{43}\n?$/

/** A file with anything else in it holds no key: the next one that is needed takes its place. */
export function runKeyIn(home: string): RunKeyStore {
  const file = runKeyPath(home)
  return {
    read() {
      try {
        const text = readFileSync(file, 'latin1')
        return KEY_TEXT.test(text) ? Buffer.from(text.trim(), 'base64url') : undefined
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        if (code === 'ENOENT') return undefined
        // Its message names no file.
        if (code !== 'EISDIR') throw asHomeRefused(file, error)
        throw new HomeRefused('corrupt', `${file} is a folder (${message}): remove it`, { cause: error })
      }
    },
    make() {
      const key = randomBytes(KEY_BYTES)
      try {
        replaceOwnerOnly(file, `${key.toString('base64url')}\n`)
      } catch (cause) {
        throw new RunKeyFailure(`${file} cannot be written: ${(cause as Error).message}`, { cause })
      }
      return key
    },
  }
}
