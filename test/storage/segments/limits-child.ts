/**
 * Appends rows until the file system takes no more, in files of so many bytes; says which was the last, and what becomes of the log
 * then. With `read` it reads all rows there are.
 */
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

const from = key
const most = Number(process.argv[5] ?? 100_000)
let failure: string | undefined
while (failure === undefined && key < from + most) failure = append()
const later = failure === undefined ? undefined : append()
const { done } = log.useReadTransaction()
console.log(JSON.stringify({ failure, later, last: key, count: events.getKeysCount() }))
done()
