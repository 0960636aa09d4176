/**
 * `npm run overload -- --minutes 5`: offers twice the peak load for that long, and prints what the bystanders
 * experienced.
 */
import { killAll } from '../../bench/child.ts'
import { Scratch } from '../../bench/scratch.ts'
import { commandLine, whole } from '../command-line.ts'
import { brokenPromises, overload, slowAnswers } from './overload.ts'

const USAGE = `npm run overload -- [--minutes N] [--peak SECONDS] [--noisy SECONDS]

  --minutes N      how long twice the peak is asked for (5)
  --peak SECONDS   how long the peak is measured before (10)
  --noisy SECONDS  how long one project, and then one runner, is noisy beside others (20)`

const values = commandLine(USAGE, {
  minutes: { type: 'string', default: '5' },
  peak: { type: 'string', default: '10' },
  noisy: { type: 'string', default: '20' },
})
const seconds = 60 * whole(USAGE, '--minutes', values.minutes, 1)
const peakSeconds = whole(USAGE, '--peak', values.peak, 1)
const noisySeconds = whole(USAGE, '--noisy', values.noisy, 1)

process.on('exit', killAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const scratch = new Scratch()
try {
  const report = await overload({
    home: scratch.home(),
    seconds,
    peakSeconds,
    noisySeconds,
    log: (line) => console.log(line),
  })
  const faults = [...brokenPromises(report), ...slowAnswers(report)]
  for (const fault of faults) console.error(`FAULT ${fault}`)
  console.log(faults.length === 0 ? 'every promise was kept' : `${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  killAll()
  scratch.removeAll()
}
