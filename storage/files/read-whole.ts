import { readSync } from 'node:fs'

/** Fills the buffer from byte `at` of the file on; false if the file ends first. Throws file system errors. */
export function readWhole(file: number, into: Buffer, at: number): boolean {
  return readUpTo(file, into, at) === into.length
}

/** Reads from byte `at` of the file on, and returns how many bytes: fewer than fit only if the file ends first. */
export function readUpTo(file: number, into: Buffer, at: number): number {
  for (let read = 0; ; ) {
    const bytes = read < into.length ? readSync(file, into, read, into.length - read, at + read) : 0
    if (bytes === 0) return read
    read += bytes
  }
}
