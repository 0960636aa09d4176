/**
 * Kills the real service at random moments under load and proves that nothing acknowledged is lost, nothing happens
 * twice, and those around it carry on by themselves. `npm run crash -- --kills N --seed N` does more of it.
 */
import { join } from 'node:path'
import t from 'tap'
import { killAgainAndAgain } from './kills.ts'

const KILLS = 10
const seed = Date.now() % 1_000_000

t.test(`nothing acknowledged is lost in ${KILLS} kills (seed ${seed})`, { timeout: 540_000 }, async (t) => {
  const { faults, ...report } = await killAgainAndAgain({
    kills: KILLS,
    seed,
    home: join(t.testdir({ home: {} }), 'home'),
    say: (line) => t.comment(line),
  })
  t.same(faults, [], 'no fault was found')
  t.comment(JSON.stringify(report))
  // How much depends on the machine and on its other load; there must have been some of every kind of work to lose.
  t.ok(report.completed > KILLS, `runs were completed (${report.completed})`)
  t.ok(report.reviewed > KILLS / 4, `hypotheses were reviewed (${report.reviewed})`)
  t.ok(report.worked > 0, `campaigns were worked off (${report.worked})`)
  t.ok(report.fired > 1, `sentinels were fired (${report.fired})`)
  t.ok(report.formed > 1, `briefs were formed (${report.formed})`)
})
