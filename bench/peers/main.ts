/**
 * `npm run bench:peers`: the same durable work for Intendant and every installed peer, side by side. Prints Markdown
 * and stores JSON.
 */
import { parseArgs } from 'node:util'
import { BadArguments } from '../args.ts'
import { Child } from '../child.ts'
import { command, resultsPath, say, writeJson } from '../command.ts'
import type { Flushes } from '../lmdb-limits.ts'
import { watchNeighbours } from '../neighbours.ts'
import { kernelTells } from '../processes.ts'
import { verdict } from '../question.ts'
import { machine } from '../report.ts'
import { requireService } from '../service.ts'
import { median } from '../statistics.ts'
import { canRecord } from './flushes.ts'
import { goalFindings, MANY, type Measured, type PeerResults, peersText } from './report.ts'
import { assemble, countFlushes, dismantle, type Lengths, measureRounds, type Rig, warmUp } from './rounds.ts'
import { type System, systems } from './systems.ts'

const MINUTES_MAX = 20
const FULL: Lengths = { rounds: 5, clients: [1, MANY, 256], warmupMs: 400, durationMs: 1_600 }
const QUICK: Lengths = { rounds: 2, clients: [1, MANY], warmupMs: 200, durationMs: 700 }
/** Long enough for the cycles cut off at the window's edges to be negligible. */
const COUNTING_MS = 2_000
const QUICK_COUNTING_MS = 1_000
/** How long the disk's flush is measured, before and after. */
const DISK_MS = 500

const names = systems.map(({ driver }) => driver)
const USAGE = [
  'Usage: npm run bench:peers -- [system...] [--quick]',
  '',
  ...systems.map(({ driver, name, server }) => `  ${driver.padEnd(26)} ${name} (${server.name})`),
  '',
  '  --quick  two rounds instead of five, 1 and 64 clients: about two minutes instead of ten',
  '',
  'Ours always runs. A system whose server is not installed is named and left out.',
].join('\n')

interface Asked {
  readonly systems: readonly System[]
  readonly quick: boolean
  readonly help: boolean
}

function readArguments(): Asked {
  const options = { quick: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } } as const
  let parsed: { values: { quick: boolean; help: boolean }; positionals: string[] }
  try {
    parsed = parseArgs({ allowPositionals: true, options })
  } catch (failure) {
    throw new BadArguments((failure as Error).message)
  }
  const { values, positionals } = parsed
  for (const name of positionals)
    if (!names.some((known) => known === name)) throw new BadArguments(`no system named ${name}`)
  const wanted = systems.filter(
    ({ driver }, at) => at === 0 || positionals.length === 0 || positionals.includes(driver),
  )
  return { systems: wanted, ...values }
}

function measuredOf(rig: Rig, flushes: Readonly<Record<number, number>>): Measured {
  const { name, server, usage, bar } = rig.system
  const { rounds, failure } = rig
  return {
    name,
    server: server.name,
    version: server.version() ?? '',
    setting: server.setting,
    usage,
    rounds,
    flushes,
    ...(bar === undefined ? {} : { bar }),
    ...(failure === undefined ? {} : { failure }),
  }
}

await command(USAGE, MINUTES_MAX, async (scratch) => {
  const asked = readArguments()
  if (asked.help) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  requireService()
  if (!kernelTells()) throw new BadArguments('this needs Linux: what a server costs is read from /proc')
  scratch.admitOthers()
  const lengths = asked.quick ? QUICK : FULL
  const installed = asked.systems.filter(({ server }) => server.version() !== undefined)
  const missing = asked.systems.filter((system) => !installed.includes(system))
  const about = { ...machine(scratch.root), quick: asked.quick, rounds: lengths.rounds, durationMs: lengths.durationMs }
  const neighbours = watchNeighbours()
  const path = resultsPath('peers', 'json')
  const disk: number[] = [await flushMs(scratch.home())]

  const rigs = await assemble(installed, scratch)
  await warmUp(rigs, MANY, lengths.durationMs)
  const notRun = [...missing.map(({ name, server }) => `${name} (${server.name} is not installed)`)]
  for (const system of installed)
    if (!rigs.some((rig) => rig.system === system)) notRun.push(`${system.name} (did not start)`)
  const results = (flushes: ReadonlyMap<System, Record<number, number>>): PeerResults => ({
    about: { ...about, ...neighbours() },
    clients: lengths.clients,
    flushP50Ms: median(disk),
    measured: rigs.map((rig) => measuredOf(rig, flushes.get(rig.system) ?? {})),
    notRun,
  })
  // Written after each round, so that a run that is cut short leaves results.
  await measureRounds(rigs, lengths, () => writeJson(path, results(new Map())))
  await dismantle(rigs)
  disk.push(await flushMs(scratch.home()))
  const counts = canRecord()
    ? await countFlushes(installed, scratch, [1, MANY], asked.quick ? QUICK_COUNTING_MS : COUNTING_MS)
    : new Map<System, Record<number, number>>()
  const complete = results(counts)
  writeJson(path, complete)
  process.stdout.write(`${peersText(complete)}\n`)
  say(`written to ${path}`)
  const isBelow = goalFindings(complete).some((finding) => verdict(finding) === 'BELOW')
  return isBelow || rigs.some(({ failure }) => failure !== undefined) ? 1 : 0
})

async function flushMs(home: string): Promise<number> {
  const limits = new Child('./lmdb-limits.js')
  try {
    return (await limits.ask<Flushes>('flushes', { home, durationMs: DISK_MS })).p50Ms
  } finally {
    await limits.stop()
  }
}
