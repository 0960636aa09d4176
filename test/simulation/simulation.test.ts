/** Many worlds, those that find the planted faults among them, and that a seed gives the same history each time. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { runSeeds } from './crew.ts'
import { faults } from './faults/faults.ts'
import { runWorld } from './world.ts'

/** The same seeds on every machine, however fast: two minutes of a slow one. `npm run simulate` runs as many as one likes. */
const FIRST_SEED = 1
const SEEDS = 80
const WORKERS = 2
/** Their histories are compared. */
const KEPT = [3, 11, 28]
/** As told by the workers. */
const digests = new Map<number, string | undefined>()

t.test(`none of the first ${SEEDS} seeds breaks a promise`, { timeout: 540_000 }, async (t) => {
  const seen: number[] = []
  const seeds = { from: FIRST_SEED, until: FIRST_SEED + SEEDS, digestsOf: KEPT }
  await runSeeds(seeds, WORKERS, ({ seed, fault, digest }) => {
    seen.push(seed)
    digests.set(seed, digest)
    if (fault !== undefined)
      t.fail(`seed ${seed}: ${fault}; npm run simulate -- --seed ${seed} --trace shows its history`)
    return fault === undefined ? 'go on' : 'stop'
  })
  const all = Array.from({ length: SEEDS }, (_, n) => FIRST_SEED + n)
  t.same(
    seen.sort((a, b) => a - b),
    all,
    'each seed once',
  )
})

t.test('the same seed gives the same history, byte for byte, in any process', async (t) => {
  for (const seed of KEPT) {
    const first = await runWorld(seed, true)
    const second = await runWorld(seed, true)
    t.ok(first.history.lines.length > 100, `seed ${seed} has a history`)
    t.equal(second.history.lines.join('\n'), first.history.lines.join('\n'))
    t.equal(digests.get(seed), first.history.digest(), 'a worker, between other worlds, had the same')
  }
  const [seed] = KEPT
  const alone = execFileSync(process.execPath, ['dist/test/simulation/main.js', '--seed', `${seed}`, '--digest'])
  t.equal(alone.toString().trim(), digests.get(seed!))
})

t.test('no later seed that finds a planted fault breaks a promise', { timeout: 540_000 }, async (t) => {
  const table = readFileSync('test/simulation/README.md', 'utf8').matchAll(/^\| .+ \| (\d+) \| .+ \|$/gm)
  const finders = new Set([...table].map(([, seed]) => Number(seed)))
  t.ok(finders.size > 10, 'the table is read')
  for (const seed of finders)
    if (seed >= FIRST_SEED + SEEDS) t.equal((await runWorld(seed)).violation, undefined, `${seed}`)
})

t.test('a run of many seeds that is stopped reports no more worlds than it had begun', async (t) => {
  const seen: number[] = []
  await runSeeds({ from: 1, until: 1_000_000 }, 2, ({ seed }) => {
    seen.push(seed)
    return 'stop'
  })
  t.ok(seen.includes(1) && seen.length <= 8, `${seen.length} worlds`)
})

t.test('every fault to be planted fits the sources', async (t) => {
  for (const { name, edits } of faults) {
    const fits = edits.every(({ file, from }) => readFileSync(file, 'utf8').split(from).length === 2)
    t.ok(fits, name)
  }
})
