/**
 * Whether that many more files can be open at once: checked before work that must not be left half done for want of
 * them.
 */
import { closeSync, openSync } from 'node:fs'

/** The limit of open files of the process (EMFILE) or the machine (ENFILE) is reached. */
const NO_MORE_FILES: readonly unknown[] = ['EMFILE', 'ENFILE']

/** `path`: an existing file or folder. Other errors count as true; whoever really opens it will see them. */
export function hasFreeDescriptors(path: string, count: number): boolean {
  const files: number[] = []
  try {
    while (files.length < count) files.push(openSync(path, 'r'))
    return true
  } catch (error) {
    return !NO_MORE_FILES.includes((error as NodeJS.ErrnoException).code)
  } finally {
    for (const file of files) closeSync(file)
  }
}
