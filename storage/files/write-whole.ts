import { writeSync } from 'node:fs'

/**
 * Writes all bytes from place `at` of the file on. Throws file system errors; part may then have been written.
 */
export function writeWhole(file: number, bytes: Uint8Array, at: number): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(file, bytes, written, bytes.length - written, at + written)
}
