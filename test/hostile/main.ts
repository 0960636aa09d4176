/** `npm run hostile -- --requests 1000000 --seed 1`: the fuzzer against a service of its own, on a home of its own. */
import { parseArgs } from 'node:util'
import { killAll } from '../../bench/child.ts'
import { campaign } from './campaign.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    connections: { type: 'string', default: '128' },
  },
})

process.on('exit', killAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const result = await campaign({
  requests: Number(values.requests),
  seed: Number(values.seed),
  connections: Number(values.connections),
  log: (line) => console.log(line),
})
console.log(result.table)
for (const fault of result.faults) console.error(`\nFAULT ${fault}`)
console.log(result.faults.length === 0 ? 'no fault' : `${result.faults.length} faults (seed ${values.seed})`)
process.exitCode = result.faults.length === 0 ? 0 : 1
