/**
 * Appends and removes events without a pause, and ends in the middle: after `argv[3]` milliseconds, by an uncaught
 * error if `argv[4]` is `throw`.
 */
import { openDiskJournal } from '../../storage/open-journal.ts'
import { appendEvents, event } from './steps.ts'

const [, , home, ms, how] = process.argv
const journal = await openDiskJournal({ home: home!, diskReserveBytes: 0, onFailure: () => {} })
setTimeout(() => {
  if (how === 'throw') throw new Error('on purpose')
  process.exit(7)
}, Number(ms))
for (let n = 0; ; n += 1) {
  await appendEvents(journal, ...Array.from({ length: 500 }, (_, i) => event(`${n} ${i}`, { traceId: `t${n}` })))
  await journal.settled()
  await journal.trim({ beforeSequence: 1e9 })
}
