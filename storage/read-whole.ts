import { readSync } from 'node:fs'

/** Fills the buffer from that byte of the file on; false when the file ends before. Throws what the file system throws. */
export function readWhole(file: number, into: Buffer, at: number): boolean {
  for (let read = 0; read < into.length; ) {
    const bytes = readSync(file, into, read, into.length - read, at + read)
    if (bytes === 0) return false
    read += bytes
  }
  return true
}
