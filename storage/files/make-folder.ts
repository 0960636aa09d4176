import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates the folder and missing parents. Throws the error of the first that cannot be created; Node.js's `recursive`
 * reports ENOENT on a read-only disk, and never returns where a folder exists and holds no new ones (/proc).
 */
export function makeFolder(path: string, mode?: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && dirname(path) !== path && !existsSync(dirname(path))) {
      makeFolder(dirname(path), mode)
      makeFolder(path, mode)
      return
    }
    // Here `recursive` does report what else is in its place, and accepts an existing folder on a read-only disk.
    if (code === 'EEXIST' || code === 'EISDIR') mkdirSync(path, { recursive: true, mode })
    else throw error
  }
}
