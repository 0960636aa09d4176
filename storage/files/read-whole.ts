import { readSync } from 'node:fs'

/** Fills the buffer from that byte of the file on; false when the file ends before. Throws what the file system throws. */
export function readWhole(file: number, into: Buffer, at: number): boolean {
  return readUpTo(file, into, at) === into.length
}

/** How many bytes were read from that byte of the file on: fewer than there is room for where the file ends before. */
export function readUpTo(file: number, into: Buffer, at: number): number {
  for (let read = 0; ; ) {
    const bytes = read < into.length ? readSync(file, into, read, into.length - read, at + read) : 0
    if (bytes === 0) return read
    read += bytes
  }
}
