/** `npm run hostile -- --requests 1000000 --seed 1`: runs the fuzzer against its own service on a temporary home. */
import { killAll } from '../../bench/child.ts'
import { commandLine, whole } from '../command-line.ts'
import { campaign } from './campaign.ts'

const USAGE = `npm run hostile -- [--requests N] [--seed N] [--connections N]

  --requests N     how many, good and bad (100000)
  --seed N         of what is asked; answers may come in another order each time (1)
  --connections N  at once (128)`

const values = commandLine(USAGE, {
  requests: { type: 'string', default: '100000' },
  seed: { type: 'string', default: '1' },
  connections: { type: 'string', default: '128' },
})
const requests = whole(USAGE, '--requests', values.requests, 1)
const seed = whole(USAGE, '--seed', values.seed)
const connections = whole(USAGE, '--connections', values.connections, 1)

process.on('exit', killAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const result = await campaign({ requests, seed, connections, log: (line) => console.log(line) })
console.log(result.table)
for (const fault of result.faults) console.error(`\nFAULT ${fault}`)
console.log(result.faults.length === 0 ? 'no fault' : `${result.faults.length} faults (seed ${seed})`)
process.exitCode = result.faults.length === 0 ? 0 : 1
