/**
 * `npm run simulate -- --seeds 1000 --from 1` runs worlds in `--workers` processes (one a core); the first seed whose
 * history breaks a promise is printed with its last lines. `-- --seed 42 --trace` runs one and prints all of it,
 * `--digest` its SHA-256.
 */
import { availableParallelism } from 'node:os'
import { commandLine, whole } from '../command-line.ts'
import { runSeeds, type Told } from './crew.ts'
import { type Outcome, runWorld } from './world.ts'

const TAIL_LINES = 40
const PROGRESS_EVERY_MS = 60_000

const USAGE = `npm run simulate -- [--seeds N] [--from N] [--workers N] [--keep-going] [--brief]
npm run simulate -- --seed N [--trace | --digest]

  --seeds N     so many worlds (1000)
  --from N      of these seeds, one after the other (1)
  --workers N   processes (one a core)
  --keep-going  past a seed that breaks a promise
  --brief       without the last lines of that seed
  --seed N      one world
  --trace       all of its lines
  --digest      SHA-256 of its lines`

const values = commandLine(USAGE, {
  seeds: { type: 'string', default: '1000' },
  from: { type: 'string', default: '1' },
  seed: { type: 'string' },
  workers: { type: 'string', default: String(availableParallelism()) },
  trace: { type: 'boolean', default: false },
  digest: { type: 'boolean', default: false },
  brief: { type: 'boolean', default: false },
  'keep-going': { type: 'boolean', default: false },
})
const from = whole(USAGE, '--from', values.from)
const until = from + whole(USAGE, '--seeds', values.seeds, 1)
const workers = whole(USAGE, '--workers', values.workers, 1)

process.exitCode = values.seed === undefined ? await many() : await one(whole(USAGE, '--seed', values.seed))

async function one(seed: number): Promise<number> {
  const outcome = await runWorld(seed, true)
  if (values.digest) {
    console.log(outcome.history.digest())
    return 0
  }
  const { lines } = outcome.history
  console.log((values.trace ? lines : lines.slice(-TAIL_LINES)).join('\n'))
  console.log(summary(outcome))
  return outcome.violation === undefined ? 0 : 1
}

async function many(): Promise<number> {
  const beganMs = performance.now()
  const sums = { seeds: 0, events: 0, processes: 0 }
  const failed: Told[] = []
  const pace = (): string => `${(sums.seeds / ((performance.now() - beganMs) / 1_000)).toFixed(1)} a second`
  const progress = setInterval(() => {
    console.error(`${sums.seeds} of ${until - from} seeds, ${failed.length} failed, ${pace()}`)
  }, PROGRESS_EVERY_MS)
  const cpuMs = await runSeeds({ from, until }, workers, (told) => {
    sums.seeds++
    sums.events += told.events
    sums.processes += told.processes
    if (told.fault === undefined) return 'go on'
    failed.push(told)
    if (!values['keep-going']) return 'stop'
    console.log(`seed ${told.seed}: ${told.fault}`)
    return 'go on'
  })
  clearInterval(progress)
  const first = failed.sort((a, b) => a.seed - b.seed)[0]
  if (first !== undefined && !values['keep-going']) {
    console.log(`seed ${first.seed}: ${first.fault}`)
    if (!values.brief) await one(first.seed)
  }
  const { seeds, events, processes } = sums
  const each = `${(cpuMs / seeds).toFixed(1)} ms, ${(events / seeds).toFixed(0)} events, ${(processes / seeds).toFixed(1)} lives each`
  console.log(
    `${seeds} seeds from ${from}: ${failed.length} failed; ${pace()} with ${workers} workers; ${(cpuMs / 1_000).toFixed(1)} s of CPU, ${each}`,
  )
  return failed.length === 0 ? 0 : 1
}

function summary({ seed, violation, virtualMs, steps, events, processes }: Outcome): string {
  const figures = `${(virtualMs / 1000).toFixed(1)} s, ${steps} steps, ${events} events, ${processes} lives`
  return `seed ${seed}: ${violation === undefined ? 'no promise broken' : `${violation.name}: ${violation.message}`} (${figures})`
}
