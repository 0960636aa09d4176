/**
 * Kills the real service at random moments under load and proves that nothing acknowledged is lost, nothing
 * happens twice, and those around it carry on by themselves. `npm run crash -- --kills N --seed N` does more of it.
 */
import { join } from 'node:path'
import t from 'tap'
import { killAgainAndAgain } from './kills.ts'

const KILLS = 14
const seed = Date.now() % 1_000_000

t.test(`nothing acknowledged is lost in ${KILLS} kills (seed ${seed})`, { timeout: 300_000 }, async (t) => {
  const { faults, ...report } = await killAgainAndAgain({
    kills: KILLS,
    seed,
    home: join(t.testdir({ home: {} }), 'home'),
    say: (line) => t.comment(line),
  })
  t.same(faults, [], 'no fault was found')
  t.comment(JSON.stringify(report))
  // How much hangs on the machine and on what else it does; all kinds of work must have been there to be lost.
  t.ok(report.completed > KILLS, `work was done meanwhile (${report.completed} runs)`)
  t.ok(report.reviewed > KILLS / 4, `and reviewed (${report.reviewed} hypotheses)`)
  t.ok(report.worked > 0, `and ${report.worked} campaigns were worked off`)
  t.ok(report.formed > 1, `and formed (${report.formed} briefs)`)
})
