import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes the folder and those that it is in, where they are not there. Throws what the file system says of the first that cannot be made:
 * the `recursive` of Node.js says ENOENT on a disk that takes no writes.
 */
export function makeFolder(path: string, mode?: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && dirname(path) !== path) {
      makeFolder(dirname(path), mode)
      makeFolder(path, mode)
      return
    }
    // It says as well what else is in its place, and allows what is there already on a disk that takes no writes.
    if (code === 'EEXIST' || code === 'EISDIR') mkdirSync(path, { recursive: true, mode })
    else throw error
  }
}
