/**
 * `npm run simulate -- --seeds 1000 --from 1`: so many worlds, one after the other; the first seed whose history breaks
 * a promise is printed with its last lines. `-- --seed 42 --trace` runs one and prints all of it, `--digest` its SHA-256.
 */
import { parseArgs } from 'node:util'
import { type Outcome, runWorld } from './world.ts'

const TAIL_LINES = 40

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    digest: { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})

process.exitCode = values.seed === undefined ? await many() : await one(Number(values.seed))

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
  const from = Number(values.from)
  const until = from + Number(values.seeds)
  const started = process.cpuUsage()
  let events = 0
  let processes = 0
  let failed = 0
  let seed = from
  for (; seed < until; seed++) {
    const outcome = await runWorld(seed)
    events += outcome.events
    processes += outcome.processes
    if (outcome.violation === undefined) continue
    failed++
    console.log(summary(outcome))
    if (!values['keep-going']) {
      if (!values.brief) await one(seed)
      seed++
      break
    }
  }
  const seeds = seed - from
  const { user, system } = process.cpuUsage(started)
  const ms = (user + system) / 1000
  const each = `${(ms / seeds).toFixed(1)} ms, ${(events / seeds).toFixed(0)} events, ${(processes / seeds).toFixed(1)} lives each`
  console.log(`${seeds} seeds from ${from}: ${failed} failed; ${(ms / 1000).toFixed(1)} s of CPU, ${each}`)
  return failed === 0 ? 0 : 1
}

function summary({ seed, violation, virtualMs, steps, events, processes }: Outcome): string {
  const figures = `${(virtualMs / 1000).toFixed(1)} s, ${steps} steps, ${events} events, ${processes} lives`
  return `seed ${seed}: ${violation === undefined ? 'no promise broken' : `${violation.name}: ${violation.message}`} (${figures})`
}
