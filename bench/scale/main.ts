/**
 * `npm run bench:scale`: what calls cost against the size of everything that can become large. Prints Markdown, and
 * writes an SVG per curve and JSON.
 */
import { join } from 'node:path'
import { readArguments, usage } from '../args.ts'
import { stopAll } from '../child.ts'
import { command, RESULTS, resultsPath, say, writeJson, writeText } from '../command.ts'
import { provenance } from '../markdown.ts'
import { watchNeighbours } from '../neighbours.ts'
import { svg } from '../plot.ts'
import { profiler } from '../profiler.ts'
import type { Context } from '../question.ts'
import { machine } from '../report.ts'
import { requireService } from '../service.ts'
import { type Curve, growing, plotOf } from './curve.ts'
import { parked } from './parked.ts'
import { projects } from './projects.ts'
import { curveReport } from './report.ts'
import { entities, events, queued } from './stored.ts'
import { watchers } from './watchers.ts'

const MINUTES_MAX = 90

const curves: readonly { readonly name: string; readonly asks: string; run(context: Context): Promise<Curve> }[] = [
  { name: 'entities', asks: 'a thousand to a million settled run requests in the store', run: entities },
  { name: 'events', asks: 'ten thousand to ten million events in the log', run: events },
  { name: 'queued', asks: 'a thousand to a million run requests that wait', run: queued },
  { name: 'projects', asks: '1 to 10,000 projects with work waiting', run: projects },
  { name: 'watchers', asks: '1 to 10,000 Watch subscribers', run: watchers },
  { name: 'parked', asks: '1 to 20,000 parked runners, alike and each its own kind', run: parked },
]

const USAGE = usage('bench:scale', curves)

await command(USAGE, MINUTES_MAX, async (scratch) => {
  const asked = readArguments(
    process.argv.slice(2),
    curves.map(({ name }) => name),
  )
  if (asked.help || asked.list) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  requireService()
  const context: Context = { quick: asked.quick, scratch, say, profiled: profiler(asked.profile ? RESULTS : undefined) }
  const neighbours = watchNeighbours()
  const machineOf = machine(scratch.root)
  const about = () => ({ ...machineOf, quick: asked.quick, ...neighbours() })
  const path = resultsPath('scale', 'json')
  const measured: Curve[] = []
  const failures: string[] = []
  for (const { name, run } of curves.filter((curve) => asked.names.includes(curve.name))) {
    say(name)
    try {
      const curve = await run(context)
      measured.push(curve)
      process.stdout.write(`${curveReport(curve)}\n\n`)
      writeText(join(RESULTS, `scale-${curve.name}.svg`), svg(plotOf(curve)))
      // Written after each curve, so that a run that is cut short leaves results.
      writeJson(path, { about: about(), curves: measured })
    } catch (failure) {
      failures.push(`${name}: no answer: ${(failure as Error).stack}`)
      await stopAll()
    }
  }
  process.stdout.write(`${provenance(about())}\n`)
  for (const failure of failures) process.stdout.write(`${failure}\n`)
  const grown = measured.flatMap((curve) => growing(curve).map((series) => `${curve.name}, ${series.name}`))
  for (const name of grown) process.stdout.write(`grows with the size: ${name}\n`)
  say(`written to ${path}`)
  return grown.length > 0 || failures.length > 0 ? 1 : 0
})
