/** Whether so many files more may be open at once: asked before what must not be left half done for want of them. */
import { closeSync, openSync } from 'node:fs'

/** What the process (EMFILE) or the machine (ENFILE) may have open is used up. */
const NO_MORE_FILES: readonly unknown[] = ['EMFILE', 'ENFILE']

/** `path`: a file or folder that is there. What else is wrong with it, who opens it for its own sake is told. */
export function mayOpen(path: string, count: number): boolean {
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
