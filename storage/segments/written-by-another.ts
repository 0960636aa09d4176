/**
 * Two processes and one log. The lock of a home reaches as far as its network namespace; where it does not reach, a process that finds
 * in a file what it has neither read nor written goes no further, and cuts and writes nothing: that was acknowledged by another.
 */
import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs'
import { HomeRefused } from '../home/home-refused.ts'
import { hasFrameFrom } from './frames-in.ts'

export function writtenByAnother(path: string, end: number): HomeRefused {
  const what = `another process wrote this log (${path} does not end at byte ${end}), although the lock of its home was free`
  return new HomeRefused('locked', `${what}: stop one of the two, then start again; what it wrote is there`)
}

/**
 * Opens a file that is to be begun: there is none, or the beginning of one that was cut short. Throws HomeRefused `locked`, and what the
 * file system throws.
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
