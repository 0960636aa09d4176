/**
 * Appends rows, in files of a given size, until the file system takes no more; prints which was the last, and what
 * becomes of the log then. With a sixth argument it first appends that many rows while as many files are open as may
 * be.
 */
import { closeSync, openSync } from 'node:fs'
import { SegmentedLog } from '../../../storage/segments/segmented-log.ts'
import { tablesOf } from '../../../storage/segments/tables.ts'

const [folder, segmentBytesMax, text] = [process.argv[2]!, Number(process.argv[3]), 'x'.repeat(Number(process.argv[4]))]
const log = new SegmentedLog(folder, { readOnly: false, segmentBytesMax })
const { events } = tablesOf(log)
log.sync()

let key = [...events.getKeys({ reverse: true, limit: 1 })][0] ?? 0
const append = (): string | undefined => {
  try {
    log.transactionSync(() => events.append(key + 1, [text]))
    key += 1
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

const appendUpTo = (last: number): string | undefined => {
  let failure: string | undefined
  while (failure === undefined && key < last) failure = append()
  return failure
}

function openAll(): readonly number[] {
  const files: number[] = []
  try {
    for (;;) files.push(openSync('/dev/null', 'r'))
  } catch {
    return files
  }
}

let failure: string | undefined
const crowded = Number(process.argv[6] ?? 0)
if (crowded > 0) {
  const files = openAll()
  // One is left, which is not enough.
  closeSync(files[0]!)
  failure = appendUpTo(key + crowded)
  for (const file of files.slice(1)) closeSync(file)
}
failure ??= appendUpTo(key + Number(process.argv[5] ?? 100_000))
const later = failure === undefined ? undefined : append()
const { done } = log.useReadTransaction()
console.log(JSON.stringify({ failure, later, last: key, count: events.getKeysCount() }))
done()
