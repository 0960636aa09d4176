/** Some hundreds of worlds, and that a seed means the same history each time. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { faults } from './faults/faults.ts'
import { runWorld } from './world.ts'

/** The same ones on every machine, however fast. `npm run simulate` runs as many as one likes. */
const FIRST_SEED = 1
const SEEDS = 300

t.test('the same seed gives the same history, byte for byte, in whatever process', async (t) => {
  for (const seed of [3, 11, 28]) {
    const first = await runWorld(seed, true)
    const second = await runWorld(seed, true)
    t.ok(first.history.lines.length > 100, `seed ${seed} has a history`)
    t.equal(second.history.lines.join('\n'), first.history.lines.join('\n'))
    const elsewhere = execFileSync(process.execPath, ['dist/test/simulation/main.js', '--seed', `${seed}`, '--digest'])
    t.equal(elsewhere.toString().trim(), first.history.digest())
  }
})

t.test('no history breaks a promise', { timeout: 300_000 }, async (t) => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const { violation } = await runWorld(seed)
    if (violation === undefined) continue
    t.fail(`seed ${seed}: ${violation.message}; npm run simulate -- --seed ${seed} --trace shows its history`)
    return
  }
  t.pass(`${SEEDS} seeds`)
})

t.test('every fault that is to be planted fits the sources', async (t) => {
  for (const { name, edits } of faults) {
    const fits = edits.every(({ file, from }) => readFileSync(file, 'utf8').split(from).length === 2)
    t.ok(fits, name)
  }
})
