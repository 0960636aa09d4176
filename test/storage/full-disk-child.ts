/**
 * Appends large records until the view can no longer be written; prints how the journal ended, and lives on for a
 * moment.
 */
import { openDiskJournal } from '../../storage/open-journal.ts'
import { step } from './steps.ts'

let failed = false
const journal = await openDiskJournal({
  home: process.argv[2]!,
  diskReserveBytes: 0,
  onFailure: ({ message }) => {
    failed = true
    console.log(message)
  },
})
for (let n = 0; !failed; n += 1) {
  const record = JSON.stringify({ v: 1, padding: 'x'.repeat(2_000) })
  journal.append([step(`r${n}`, 1, { record })], () => {})
  if (n % 20 === 0) await journal.settled().catch(() => {})
}
setTimeout(() => {
  console.log(journal.refuses())
  journal.close()
}, 200)
