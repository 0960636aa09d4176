import { writeSync } from 'node:fs'

/** Writes all of it from a place of the file on. Throws what the file system throws: part of it may be there then. */
export function writeWhole(file: number, bytes: Uint8Array, at: number): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(file, bytes, written, bytes.length - written, at + written)
}
