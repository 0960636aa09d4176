/**
 * `npm run soak`: loads a service fully until its retention is at work, which gives the peak, then with a share of the
 * peak for a long time, open loop. Prints each minute, and whether the service was at the end as it was at the
 * beginning.
 */

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bytesOf } from '../../storage/home/home-paths.ts'
import { BadArguments } from '../args.ts'
import { Child } from '../child.ts'
import { command, resultsPath, say, writeJson } from '../command.ts'
import { watchNeighbours } from '../neighbours.ts'
import type { Collected, Usage } from '../probe.ts'
import { machine } from '../report.ts'
import { requireService, Service } from '../service.ts'
import type { SoakJob, SoakReading } from './client.ts'
import { judge, type Minute } from './flatness.ts'
import { Flushes } from './flushes.ts'
import { minuteLine, type SoakResults, soakText } from './report.ts'

const MINUTES_DEFAULT = 30
const MINUTES_MAX = 24 * 60
const SHARE_DEFAULT = 0.7
const PROJECT = 'bench'
/** For the peak, and for the soak, where as many cycles can be under way. */
const CLIENTS = 256
/** How long the peak is measured, after one retention period at full load. */
const PEAK_SECONDS = 60
/** The retention period, and the full load before the measurement, are each this part of the run. */
const RETENTION_PART = 6
const RETENTION_SECONDS_MIN = 10

const USAGE = [
  'Usage: npm run soak -- [--minutes N] [--share S] [--rate R]',
  '',
  `  --minutes N  how long (${MINUTES_DEFAULT}, at least 3)`,
  `  --share S    of the peak rate, which is measured first (${SHARE_DEFAULT})`,
  '  --rate R     cycles a second instead of a share',
].join('\n')

interface Asked {
  readonly minutes: number
  readonly share: number
  readonly rate?: number
}

function readArguments(): Asked | undefined {
  const options = {
    minutes: { type: 'string', default: `${MINUTES_DEFAULT}` },
    share: { type: 'string', default: `${SHARE_DEFAULT}` },
    rate: { type: 'string' },
    help: { type: 'boolean', default: false },
  } as const
  let values: { minutes: string; share: string; rate?: string | undefined; help: boolean }
  try {
    values = parseArgs({ options }).values
  } catch (failure) {
    throw new BadArguments((failure as Error).message)
  }
  if (values.help) return undefined
  const minutes = numberIn('--minutes', values.minutes, 3, MINUTES_MAX)
  const share = numberIn('--share', values.share, 0.01, 2)
  return { minutes, share, ...(values.rate === undefined ? {} : { rate: numberIn('--rate', values.rate, 1, 1e6) }) }
}

function numberIn(flag: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= least && value <= most) || (flag === '--minutes' && !Number.isInteger(value)))
    throw new BadArguments(`${flag} is a number from ${least} to ${most}`)
  return value
}

/** Other promises that outlast retention keep data longer, so they are shortened, too. */
function forgetting(seconds: number): readonly string[] {
  const time = `${seconds}s`
  return ['--retention', time, '--idempotency', time, '--late-events', time]
}

function minuteOf(
  minute: number,
  reading: SoakReading,
  before: Usage,
  after: Usage,
  collected: Collected,
  longestFlushMs: number,
  home: string,
): Minute {
  const { callP50Ms, callP99Ms, callMaxMs, cycleP50Ms, cycleP99Ms, refused } = reading
  return {
    minute,
    cyclesPerSecond: reading.cycles / reading.seconds,
    callP50Ms,
    callP99Ms,
    callMaxMs,
    cycleP50Ms,
    cycleP99Ms,
    refused,
    longestFlushMs,
    longestCollectionMs: collected.longestMs,
    serverCpu: (after.cpuMs - before.cpuMs) / (after.atMs - before.atMs),
    rssBytes: after.rssBytes,
    privateBytes: after.privateBytes,
    ...(collected.heapUsedBytes === undefined ? {} : { heapBytes: collected.heapUsedBytes }),
    logBytes: bytesOf(join(home, 'log')),
    viewBytes: bytesOf(join(home, 'view')),
  }
}

const asked = await (async () => readArguments())().catch((failure: Error) => failure)
const minutesMax = asked instanceof Error || asked === undefined ? 1 : asked.minutes * (1 + 1 / RETENTION_PART) + 5

await command(USAGE, minutesMax, async (scratch) => {
  if (asked instanceof Error) throw asked
  if (asked === undefined) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  requireService()
  const retentionSeconds = Math.max(RETENTION_SECONDS_MIN, Math.round((asked.minutes * 60) / RETENTION_PART))
  const home = scratch.home()
  const service = await Service.start(home, forgetting(retentionSeconds))
  const client = new Child('./soak/client.js')
  await service.createProject(PROJECT)
  const runners = await service.createRunners('runner', CLIENTS)
  const neighbours = watchNeighbours()
  say(`measuring the peak, once retention is at work: ${retentionSeconds + PEAK_SECONDS} s`)
  await client.ask('begin', {
    target: service.target,
    project: PROJECT,
    token: service.token,
    runners,
  } satisfies SoakJob)
  await pause(retentionSeconds * 1_000)
  await client.ask('read')
  await pause(PEAK_SECONDS * 1_000)
  const { cycles, seconds } = await client.ask<SoakReading>('read')
  const peak = cycles / seconds
  const rate = asked.rate ?? peak * asked.share
  const said = { ...machine(scratch.root), minutes: asked.minutes, retentionSeconds, peak, rate }
  const about = () => ({ ...said, ...neighbours() })
  const path = resultsPath('soak', 'json')
  say(
    `${Math.round(rate)} cycles a second, the peak being ${Math.round(peak)}, for ${asked.minutes} minutes; retention ${retentionSeconds} s`,
  )

  await client.ask('pace', rate)
  // Cycles under way end, and count for no minute.
  await pause(1_000)
  await client.ask('read')
  await service.child.collected()
  const flushes = new Flushes(service.target, service.token)
  await flushes.longestMs()
  const minutes: Minute[] = []
  let before = await service.child.usage()
  for (let minute = 1; minute <= asked.minutes; minute++) {
    await pause(60_000)
    const [reading, after, collected, flushMs] = await Promise.all([
      client.ask<SoakReading>('read'),
      service.child.usage(),
      service.child.collected(),
      flushes.longestMs(),
    ])
    minutes.push(minuteOf(minute, reading, before, after, collected, flushMs, home))
    before = after
    say(minuteLine(minutes.at(-1)!))
    // Written after each minute, so that a run that is cut short leaves results.
    writeJson(path, { about: about(), minutes } satisfies SoakResults)
  }
  await client.ask('stop')
  await Promise.all([client.stop(), service.stop()])

  const results: SoakResults = { about: about(), minutes }
  writeJson(path, results)
  process.stdout.write(`${soakText(results)}\n`)
  say(`written to ${path}`)
  return judge(minutes, rate).every(({ isFlat }) => isFlat) ? 0 : 1
})
