/**
 * The one command: ask each question, print its table, write all answers as JSON. A question that fails is
 * reported and the next is asked; whatever was started is stopped and every temporary home removed.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BadArguments, readArguments, usage } from './args.ts'
import { type Child, killAll, stopAll } from './child.ts'
import { type CpuProfile, selfTimes } from './profile.ts'
import { type Context, type Question, verdict } from './question.ts'
import { questions } from './questions.ts'
import { type Answered, machine, table, writeResults } from './report.ts'
import { Scratch } from './scratch.ts'
import { serviceIsBuilt } from './service.ts'

const RESULTS = resolve('bench/results')
const FUNCTIONS_SHOWN = 40
/** Whatever hangs, the run ends. */
const RUN_MS_MAX = 40 * 60_000

function say(text: string): void {
  process.stderr.write(`  ${text}\n`)
}

/** Profiles the first time that a measure of this name runs; later rounds run undisturbed. */
function profiler(): Context['profiled'] {
  const taken = new Set<string>()
  return async (name, server: Child, measure) => {
    if (taken.has(name)) return measure()
    taken.add(name)
    await server.profileStart()
    const result = await measure()
    const profile = (await server.profileStop()) as CpuProfile
    mkdirSync(RESULTS, { recursive: true })
    const path = join(RESULTS, `${name}.cpuprofile`)
    writeFileSync(path, JSON.stringify(profile))
    say(`self time, ${name} (${path}):`)
    for (const { what, share } of selfTimes(profile, FUNCTIONS_SHOWN))
      say(`  ${(share * 100).toFixed(1).padStart(5)} %  ${what}`)
    return result
  }
}

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

async function main(): Promise<number> {
  const asked = readArguments(
    process.argv.slice(2),
    questions.map(({ name }) => name),
  )
  if (asked.help || asked.list) {
    process.stdout.write(`${usage(questions)}\n`)
    return 0
  }
  if (!serviceIsBuilt() && asked.names.some((name) => name !== 'limits'))
    throw new BadArguments('the service is not built: npm run build')
  const scratch = new Scratch()
  process.once('exit', () => scratch.removeAll())
  const profiled: Context['profiled'] = asked.profile ? profiler() : (_name, _server, measure) => measure()
  const context: Context = { quick: asked.quick, scratch, say, profiled }
  const about = { ...machine(scratch.root), quick: asked.quick }
  process.stdout.write(`${JSON.stringify(about)}\n`)
  const answered: Answered[] = []
  try {
    for (const question of questions) {
      if (asked.names.includes(question.name)) answered.push(await answer(question, context))
    }
  } finally {
    await stopAll()
  }
  const below = answered.flatMap(({ findings }) => findings).filter((finding) => verdict(finding) === 'BELOW')
  process.stdout.write(`\nwritten to ${writeResults(RESULTS, about, answered)}\n`)
  for (const { measure } of below) process.stdout.write(`below its floor: ${measure}\n`)
  return answered.some(({ failure }) => failure !== undefined) || below.length > 0 ? 1 : 0
}

process.once('exit', killAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
setTimeout(() => process.exit(124), RUN_MS_MAX).unref()

try {
  process.exitCode = await main()
} catch (failure) {
  if (!(failure instanceof BadArguments)) throw failure
  process.stderr.write(`${failure.message}\n\n${usage(questions)}\n`)
  process.exitCode = 2
}
