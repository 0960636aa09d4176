/** `npm run overload -- --minutes 5`: twice the peak for so long, with bystanders, and what they felt. */
import { parseArgs } from 'node:util'
import { killAll } from '../../bench/child.ts'
import { Scratch } from '../../bench/scratch.ts'
import { brokenPromises, overload, slowAnswers } from './overload.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    peak: { type: 'string', default: '10' },
    noisy: { type: 'string', default: '20' },
  },
})

process.on('exit', killAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const scratch = new Scratch()
try {
  const report = await overload({
    home: scratch.home(),
    seconds: Number(values.minutes) * 60,
    peakSeconds: Number(values.peak),
    noisySeconds: Number(values.noisy),
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
