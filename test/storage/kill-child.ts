/** Appends batches until it is killed; writes the number of each to standard output once it is acknowledged. */
import { writeSync } from 'node:fs'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { modelAfter, nextBatch } from './kill-model.ts'

const home = process.argv[2]!
const journal = await openDiskJournal({
  home,
  diskReserveBytes: 1,
  onFailure: (failure) => {
    throw failure
  },
})
let batch = journal.applied.batch
const { model } = modelAfter(batch)
writeSync(1, `${batch}\n`)

function turn(): void {
  // Several batches a turn, so that folds take in more than one.
  for (let i = 0; i < 3; i += 1) {
    journal.append(nextBatch(model, batch + 1), (failure) => {
      if (failure !== null) throw failure
      batch += 1
      writeSync(1, `${batch}\n`)
    })
  }
  setImmediate(turn)
}
turn()
