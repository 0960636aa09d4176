/**
 * Starts the real service on what power cuts would have left of its files, and proves that everything acknowledged
 * before is there and that it carries on. `npm run crash -- --power-cuts N --seed N` does more of it.
 */
import t from 'tap'
import { cutAgainAndAgain } from './power-cuts.ts'

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
