import { Buffer } from 'node:buffer'
import { closeSync, openSync } from 'node:fs'
import { FILE_MODE } from './modes.ts'
import { readUpTo } from './read-whole.ts'
import { writeWhole } from './write-whole.ts'

/** Bytes per read when a file is copied. */
export const COPIED_BYTES = 1024 * 1024

/**
 * Copies a file to a path that does not exist. Throws file system errors; those of the source pass through
 * `asOfSource`. Node.js's own copy does not tell which of the two disks failed.
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
