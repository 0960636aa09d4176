import { Buffer } from 'node:buffer'
import { closeSync, openSync } from 'node:fs'
import { FILE_MODE } from './modes.ts'
import { readUpTo } from './read-whole.ts'
import { writeWhole } from './write-whole.ts'

/** Read at once by whoever copies a file. */
export const COPIED_BYTES = 1024 * 1024

/**
 * Copies a file into one that is not there. Throws what the file system says: of what is read, as `asOfSource` has it. What Node.js
 * copies with does not say which of the two disks has failed.
 */
export function copyFile(from: string, to: string, asOfSource: (error: unknown) => unknown): void {
  const ofSource = <V>(read: () => V): V => {
    try {
      return read()
    } catch (error) {
      throw asOfSource(error)
    }
  }
  const source = ofSource(() => openSync(from, 'r'))
  try {
    const target = openSync(to, 'wx', FILE_MODE)
    try {
      const bytes = Buffer.allocUnsafeSlow(COPIED_BYTES)
      for (let at = 0; ; ) {
        const read = ofSource(() => readUpTo(source, bytes, at))
        writeWhole(target, bytes.subarray(0, read), at)
        at += read
        if (read < bytes.length) return
      }
    } finally {
      closeSync(target)
    }
  } finally {
    closeSync(source)
  }
}
