/**
 * The main command: asks each question, prints its table, and writes all answers as JSON. A question that fails is
 * reported, and the next one is asked; everything started is stopped, and every temporary home removed.
 */
import { readArguments, usage } from './args.ts'
import { stopAll } from './child.ts'
import { command, RESULTS, resultsPath, say } from './command.ts'
import { watchNeighbours } from './neighbours.ts'
import { profiler } from './profiler.ts'
import { type Context, type Question, verdict } from './question.ts'
import { questions } from './questions.ts'
import { type Answered, machine, table, writeResults } from './report.ts'
import { requireService } from './service.ts'

/** The run ends after this time, even if something hangs. */
const MINUTES_MAX = 40

async function answer(question: Question, context: Context): Promise<Answered> {
  const from = performance.now()
  const about = { name: question.name, asks: question.asks }
  process.stdout.write(`\n${question.name}: ${question.asks}\n`)
  try {
    const findings = await question.run(context)
    process.stdout.write(`${table(findings)}\n`)
    return { ...about, seconds: (performance.now() - from) / 1000, findings }
  } catch (failure) {
    const text = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
    process.stdout.write(`no answer: ${text}\n`)
    await stopAll()
    return { ...about, seconds: (performance.now() - from) / 1000, findings: [], failure: text }
  }
}

const USAGE = usage('bench', questions)

await command(USAGE, MINUTES_MAX, async (scratch) => {
  const asked = readArguments(
    process.argv.slice(2),
    questions.map(({ name }) => name),
  )
  if (asked.help || asked.list) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  if (asked.names.some((name) => name !== 'limits')) requireService()
  const context: Context = { quick: asked.quick, scratch, say, profiled: profiler(asked.profile ? RESULTS : undefined) }
  const about = { ...machine(scratch.root), quick: asked.quick }
  const neighbours = watchNeighbours()
  process.stdout.write(`${JSON.stringify(about)}\n`)
  const answered: Answered[] = []
  for (const question of questions) {
    if (asked.names.includes(question.name)) answered.push(await answer(question, context))
  }
  const below = answered.flatMap(({ findings }) => findings).filter((finding) => verdict(finding) === 'BELOW')
  const path = resultsPath('', 'json')
  writeResults(path, { ...about, ...neighbours() }, answered)
  process.stdout.write(`\nwritten to ${path}\n`)
  for (const { measure } of below) process.stdout.write(`below its floor: ${measure}\n`)
  return answered.some(({ failure }) => failure !== undefined) || below.length > 0 ? 1 : 0
})
