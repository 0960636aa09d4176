/**
 * Starts the real service on what power cuts would have left of its files, and proves that everything acknowledged
 * before is there and that it carries on. `npm run crash -- --power-cuts N --seed N` does more of it.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BINARY } from '../binary.ts'
import { Random } from '../random.ts'
import { openIn } from '../storage/open.ts'
import { appendEvents, event } from '../storage/steps.ts'
import { Disk } from './disk.ts'
import { cutAgainAndAgain } from './power-cuts.ts'
import { buildShim, shimmed } from './shim.ts'
import { readTrace } from './trace.ts'

const CUTS = 8
const CUTS_PER_RUN = 4
const seed = Date.now() % 1_000_000

t.test(`nothing acknowledged is lost in ${CUTS} power cuts (seed ${seed})`, { timeout: 300_000 }, async (t) => {
  const { faults, ...report } = await cutAgainAndAgain({
    cuts: CUTS,
    seed,
    folder: t.testdir(),
    cutsPerRun: CUTS_PER_RUN,
    say: (line) => t.comment(line),
  })
  t.same(faults, [], 'no fault was found')
  t.comment(JSON.stringify(report))
  t.ok(report.acknowledged > 0, `something had been acknowledged (${report.acknowledged} answers)`)
})

t.test('an exported file is complete and under its name after a power cut', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  const made = event('1')
  await appendEvents(journal, made)
  await journal.close()
  const outside = join(root, 'outside')
  mkdirSync(outside)
  const disk = new Disk(outside)
  const trace = join(root, 'trace')
  const argv = [BINARY, 'export', join(outside, 'new', 'events'), '--home', join(root, 'home')]
  const { status, stderr } = spawnSync(process.execPath, argv, {
    encoding: 'utf8',
    env: { ...process.env, ...shimmed(buildShim(root), outside, { trace }) },
  })
  t.equal(status, 0, stderr)
  for (const record of readTrace(trace)) disk.follow(record)
  for (let seed = 0; seed < 20; seed += 1) {
    const { files } = disk.image(new Random(seed))
    t.equal(files.get('new/events/events-2026-11.jsonl')?.toString(), `${made.text}\n`)
  }
})
