/** A worker of crew.ts: runs the seeds that it is given, and reports each. Ends when nobody listens any more. */
import type { Handful, Report } from './crew.ts'
import { runWorld } from './world.ts'

function tell(report: Report): void {
  process.send!(report)
}

process.on('message', async ({ from, until, digestsOf = [] }: Handful) => {
  const began = process.cpuUsage()
  for (let seed = from; seed < until; seed++) {
    const isKept = digestsOf.includes(seed)
    const { violation, events, processes, history } = await runWorld(seed, isKept)
    const fault = violation === undefined ? undefined : `${violation.name}: ${violation.message}`
    tell({ kind: 'world', told: { seed, events, processes, fault, digest: isKept ? history.digest() : undefined } })
  }
  const { user, system } = process.cpuUsage(began)
  tell({ kind: 'done', cpuMs: (user + system) / 1_000 })
})
process.on('disconnect', () => process.exit())
