/**
 * Puts other bytes into a file that is there. `writeFileSync` would truncate it first, after which some file systems
 * (ext4) wait for the disk each time: thousands of damages would take ten times as long.
 */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'

export function overwrite(path: string, bytes: Buffer): void {
  const file = openSync(path, 'r+')
  try {
    ftruncateSync(file, bytes.length)
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at)
  } finally {
    closeSync(file)
  }
}
