/** The child process of storage/verify/log-check.ts: reads a whole log. */
import { childMain } from '../files/run-in-child.ts'
import { SegmentFault } from '../segments/segment.ts'
import { SegmentedLog } from '../segments/segmented-log.ts'

await childMain(async ([folder = '', most]) => {
  const log = new SegmentedLog(folder, { readOnly: true, isUndisturbed: true })
  const faults: string[] = []
  for (const segment of log.snapshot.segments) {
    try {
      segment.assertEvery()
    } catch (error) {
      if (!(error instanceof SegmentFault)) throw error
      faults.push(error.message)
    }
    segment.unload()
    if (faults.length === Number(most)) break
  }
  return JSON.stringify(faults)
})
