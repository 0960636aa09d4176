/**
 * Files of a home damaged while no service runs: truncated, flipped, removed, exchanged. The real service either serves
 * and `verify` reports what is wrong, or it ends with exit code 1 and a sentence that names the fault and what to do.
 * It never dies from a signal. `npm run crash -- --damages N --seed N` flips more bits.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { dataFile, hurtAgainAndAgain, liveIn, outcomeOf, PARTS, WAY_BACK } from './damages.ts'
import type { Memory } from './memory.ts'
import { ServiceProcess } from './service-process.ts'

const PAGE_BYTES = 4096
const FLIPS = 6

const folder = t.testdir()
const home = join(folder, 'home')
/** The home as it was earlier in its life. */
const earlier = join(folder, 'earlier')
/** Another home, with its own log. */
const other = join(folder, 'other')
let memory: Memory
let homes = 0

t.before(async () => {
  await liveIn(home, 60)
  cpSync(home, earlier, { recursive: true })
  memory = await liveIn(home, 300)
  // Closed properly: its view has everything, and its log no redo.
  const service = new ServiceProcess(home)
  await service.start({ ENGINE_DISK_RESERVE: '0' })
  await service.stop()
  await liveIn(other, 30)
})

async function refuses(t: Test, hurt: (home: string) => void, words: RegExp): Promise<void> {
  const hurtHome = join(folder, `hurt-${homes++}`)
  cpSync(home, hurtHome, { recursive: true })
  hurt(hurtHome)
  const outcome = await outcomeOf(hurtHome, memory)
  t.equal(outcome.served, false, 'it does not serve')
  t.same(outcome.faults, [], 'it ends with exit code 1')
  t.match(outcome.words, words)
  t.match(outcome.words, WAY_BACK, 'and says what to do')
  rmSync(hurtHome, { recursive: true })
}

t.test('a sound home is served completely', async (t) => {
  const copy = join(folder, 'whole')
  cpSync(home, copy, { recursive: true })
  const { served, wrong, faults } = await outcomeOf(copy, memory)
  t.strictSame({ served, wrong, faults }, { served: true, wrong: [], faults: [] })
})

t.test('a truncated file is refused, whatever its length', async (t) => {
  const half = (part: (typeof PARTS)[number]) => readFileSync(dataFile(home, part)).length / 2 + 100
  for (const [part, bytes, words] of [
    ['view', 0, /does not begin like a data file/],
    ['view', PAGE_BYTES, /does not begin like a data file/],
    ['view', 2 * PAGE_BYTES, /is truncated/],
    ['view', half('view'), /is truncated/],
    ['log', 0, /does not begin like a log file/],
    ['log', 100, /does not begin like a log file/],
    ['log', PAGE_BYTES, /the log has lost batches/],
    ['log', half('log'), /the log has lost batches/],
  ] as const) {
    await refuses(t, (hurt) => truncateSync(dataFile(hurt, part), bytes), words)
  }
})

t.test('a missing view or log is refused, and no new one is created', async (t) => {
  for (const part of PARTS) {
    await refuses(
      t,
      (hurt) => rmSync(join(hurt, part), { recursive: true }),
      new RegExp(`${part} is empty or was removed`),
    )
    const emptied = (hurt: string) => {
      rmSync(join(hurt, part), { recursive: true })
      mkdirSync(join(hurt, part))
    }
    await refuses(t, emptied, new RegExp(`${part} is empty or was removed`))
  }
})

t.test('a view or log of another home, or of an earlier time, is refused', async (t) => {
  const put = (from: string, part: string) => (hurt: string) => {
    rmSync(join(hurt, part), { recursive: true })
    cpSync(join(from, part), join(hurt, part), { recursive: true })
  }
  for (const part of PARTS) await refuses(t, put(other, part), /view belongs to log .*, .*log is /)
  await refuses(t, put(earlier, 'view'), /the log has no redo of batch/)
  await refuses(t, put(earlier, 'log'), /view is at batch .*, .*log ends at .*: the log has lost batches/)
})

t.test(
  `each of ${FLIPS} flipped bits is refused, reported by verify, or without effect`,
  { timeout: 200_000 },
  async (t) => {
    const seed = Date.now() % 1_000_000
    const report = await hurtAgainAndAgain({
      damages: FLIPS,
      seed,
      folder: t.testdir(),
      say: (line) => t.comment(line),
    })
    t.same(report.faults, [], `seed ${seed}`)
    t.comment(JSON.stringify(report))
  },
)
