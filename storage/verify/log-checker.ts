/** The child process of storage/verify/log-check.ts: reads a whole log. */
import { workOfOwn } from '../files/own-process.ts'
import { SegmentFault } from '../segments/segment.ts'
import { SegmentedLog } from '../segments/segmented-log.ts'

await workOfOwn(async ([folder = '', most]) => {
  const log = new SegmentedLog(folder, { readOnly: true, isUndisturbed: true })
  const faults: string[] = []
  for (const segment of log.sight.segments) {
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
