/**
 * The copy of a log looked at by a process of its own (storage/verify/log-checker.ts): a gigabyte of checksums would be a second in which
 * nobody is answered.
 */
import { ownProcess } from '../files/own-process.ts'

const CHECKER = new URL('./log-checker.js', import.meta.url)
/** So many files are told of. */
const FAULTS_MAX = 10

/**
 * Looks at every byte of a log that nobody writes: a sentence for each file that is damaged and with which it can be opened all the same.
 * Rejects with why it cannot be opened, and when it is aborted.
 */
export async function faultsOfLog(folder: string, signal: AbortSignal): Promise<readonly string[]> {
  const args = [folder, String(FAULTS_MAX)]
  const said = await ownProcess(CHECKER, args, 'the copy of the log is of no use', signal)
  return said === '' ? [] : (JSON.parse(said) as string[])
}
