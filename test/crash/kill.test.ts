/**
 * Kills the real service at random moments under load and proves that nothing acknowledged is lost, nothing
 * happens twice, and those around it carry on by themselves. `npm run crash -- --kills N --seed N` does more of it.
 */
import { join } from 'node:path'
import t from 'tap'
import { killAgainAndAgain } from './kills.ts'

const KILLS = 20
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
  t.ok(report.completed > KILLS, `work was done meanwhile (${report.completed} runs)`)
  t.ok(report.reviewed > KILLS, `and reviewed (${report.reviewed} hypotheses)`)
  t.ok(report.worked > 2, `and ${report.worked} campaigns were worked off`)
  t.ok(report.formed > KILLS / 5, `and formed (${report.formed} briefs)`)
})
