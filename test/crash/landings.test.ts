/**
 * Kills runners, their commands and the service while agents land work. `npm run crash -- --landings N --seed N` does
 * more of it.
 */
import t from 'tap'
import { landAgainAndAgain } from './landings.ts'

if (process.platform !== 'linux') {
  t.comment('only Linux says which processes are left')
  process.exit(0)
}

const KILLS = 2
const seed = Date.now() % 1_000_000

t.test(
  `each landing that was acknowledged is on trunk once, after ${KILLS} kills (seed ${seed})`,
  { timeout: 540_000 },
  async (t) => {
    const folder = t.testdir()
    const { faults, ...report } = await landAgainAndAgain({
      kills: KILLS,
      seed,
      folder,
      say: (line) => t.comment(line),
    })
    t.same(faults, [])
    t.comment(JSON.stringify(report))
    t.ok(report.landed > 0, `work has landed (${report.landed})`)
  },
)
