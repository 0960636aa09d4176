/**
 * Guards against two processes writing one log. A home's lock reaches only as far as its network namespace. Beyond
 * that, a process that finds in a file what it has neither read nor written stops, and cuts or writes nothing: another
 * process has acknowledged it.
 */
import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs'
import { HomeRefused } from '../home/home-refused.ts'
import { hasFrameFrom } from './frames-in.ts'

export function writtenByAnother(path: string, end: number): HomeRefused {
  const what = `another process wrote to this log (${path} does not end at byte ${end}), although the lock of its home was free`
  return new HomeRefused(
    'locked',
    `${what}: stop one of the two, then start again; what the other process wrote is kept`,
  )
}

/**
 * Opens a file that is to be begun; one whose creation was cut short is emptied. Throws HomeRefused `locked`, and file
 * system errors.
 */
export function openAnew(path: string, mode: number): number {
  try {
    return openSync(path, 'wx+', mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const file = openSync(path, 'r+')
  try {
    if (hasFrameFrom(file, 0, fstatSync(file).size)) throw writtenByAnother(path, 0)
    ftruncateSync(file)
    return file
  } catch (error) {
    closeSync(file)
    throw error
  }
}
