/**
 * Checks the copy of a log in a process of its own (storage/verify/log-checker.ts): checksums of a gigabyte would stop
 * the service from answering for a second.
 */
import { runInChild } from '../files/run-in-child.ts'

const CHECKER = new URL('./log-checker.js', import.meta.url)
/** Most files reported. */
const FAULTS_MAX = 10

/**
 * Checks every byte of a log that nobody writes. Returns one sentence for each file that is damaged but does not keep
 * the log from being opened. Rejects with why the log cannot be opened, and when aborted.
 */
export async function faultsOfLog(folder: string, signal: AbortSignal): Promise<readonly string[]> {
  const args = [folder, String(FAULTS_MAX)]
  const said = await runInChild(CHECKER, args, 'the copy of the log is unusable', signal)
  return said === '' ? [] : (JSON.parse(said) as string[])
}
