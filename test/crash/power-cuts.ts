/**
 * Cuts the power of the real service, as far as its files can tell: it runs under load with every write and flush
 * recorded; then, for many moments of that run, the files are laid out as a power cut at that moment may leave them,
 * and the service is started there. What was acknowledged before the moment must be there, and the service must carry
 * on. Some of these homes are used again, so that cuts follow upon cuts.
 */
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { retentionFirstSweepMs } from '../../runtime/limits.ts'
import { Random } from '../random.ts'
import { backUp, type Load } from './actors.ts'
import { documentsAgreeWith, holdsWhatWasTold, verified, watchAgreesWith, watchResumes, wholeLog } from './check.ts'
import { ask } from './client.ts'
import { gather, PROJECT } from './crowd.ts'
import { Disk, type Image, writeImage } from './disk.ts'
import { Memory, nowNs } from './memory.ts'
import { ServiceProcess } from './service-process.ts'
import { buildShim, shimmed } from './shim.ts'
import { firedOnce } from './timekeepers.ts'
import { readTrace } from './trace.ts'

export interface PowerCutOptions {
  readonly cuts: number
  readonly seed: number
  /** An empty folder; a home in which a fault was found is left in it. */
  readonly folder: string
  readonly cutsPerRun: number
  readonly say: (line: string) => void
}

export interface PowerCutReport {
  readonly faults: readonly string[]
  readonly runs: number
  /** Cuts by how much of the unflushed writes was kept. */
  readonly survivals: Readonly<Record<string, number>>
  /** Cuts while the service started, and cuts that lost something that was written. */
  readonly starting: number
  readonly losing: number
  readonly lostBytes: number
  /** Acknowledgements before the cuts, summed over them. */
  readonly acknowledged: number
  readonly records: number
}

/** This many runs use each other's homes before a new one is made. */
const LIVES = 4
/** The share of cuts that hit the start of the service. */
const STARTING_SHARE = 0.3
/** The load of a run: answers, or milliseconds. */
const ANSWERS = 1_500
const RUN_MS_MAX = 12_000
const SETTINGS = {
  ENGINE_RETENTION: '6s',
  ENGINE_IDEMPOTENCY: '6s',
  ENGINE_LATE_EVENTS: '6s',
  ENGINE_DISK_RESERVE: '1MiB',
  // Full after some hundred answers, so that cuts and kills hit the change of files, and retention frees files.
  ENGINE_LOG_FILE_MAX: '128KiB',
}

interface Life {
  readonly home: string
  readonly memory: Memory
}

export async function cutAgainAndAgain(options: PowerCutOptions): Promise<PowerCutReport> {
  const { cuts, seed, folder, cutsPerRun, say } = options
  const random = new Random(seed)
  const library = buildShim(folder)
  const report = { faults: [] as string[], runs: 0, survivals: {} as Record<string, number>, starting: 0 }
  const sums = { losing: 0, lostBytes: 0, acknowledged: 0, records: 0 }
  let life: Life | undefined
  let shown = 0
  for (let cut = 0; cut < cuts; ) {
    const run = report.runs++
    if (run % LIVES === 0 || life === undefined) life = newLife(join(folder, `home-${run}`))
    const trace = join(folder, `trace-${run}`)
    // The disk knows files by inode: it reads the home before the run, and follows the trace afterwards.
    const disk = new Disk(life.home)
    const { memory, listeningNs } = await liveOn(life, library, trace, `run${run}`, random)
    report.faults.push(...new Set(memory.faults.splice(0)))
    const records = readTrace(trace)
    rmSync(trace)
    sums.records += records.length
    const listening = records.findIndex(({ atNs }) => atNs > listeningNs)
    const moments = Array.from({ length: Math.min(cutsPerRun, cuts - cut) }, () =>
      random.chance(STARTING_SHARE) ? random.below(listening) : listening + random.below(records.length - listening),
    ).sort((a, b) => a - b)
    const next = random.below(moments.length)
    let at = 0
    let following: Life | undefined
    for (const [i, moment] of moments.entries()) {
      for (; at <= moment; at += 1) disk.follow(records[at]!)
      const image = disk.image(random)
      const cutNs = records[moment]!.atNs
      const known = memory.until(cutNs)
      const home = join(folder, `cut-${run}-${i}`)
      writeImage(image, home, random)
      if (i === next) {
        following = { home: join(folder, `next-${run}`), memory: known }
        cpSync(home, following.home, { recursive: true })
      }
      const faults = await look(home, known, random)
      const name = `run ${run}, cut ${i} after record ${moment} of ${records.length} (${image.survival})`
      report.faults.push(...faults.map((fault) => `${name}: ${fault}`))
      if (faults.length === 0) rmSync(home, { recursive: true, force: true })
      count(report.survivals, image)
      if (moment < listening) report.starting += 1
      if (image.lostBytes > 0) sums.losing += 1
      sums.lostBytes += image.lostBytes
      sums.acknowledged += known.told.length
      cut += 1
    }
    rmSync(life.home, { recursive: true, force: true })
    life = following
    say(
      `${cut} power cuts in ${report.runs} runs, ${sums.acknowledged} acknowledgements held, ${report.faults.length} faults`,
    )
    for (const fault of report.faults.slice(shown)) say(`  ${fault}`)
    shown = report.faults.length
  }
  if (life !== undefined) rmSync(life.home, { recursive: true, force: true })
  return { ...report, ...sums }
}

function newLife(home: string): Life {
  mkdirSync(home)
  return { home, memory: new Memory() }
}

function count(survivals: Record<string, number>, { survival }: Image): void {
  survivals[survival] = (survivals[survival] ?? 0) + 1
}

/** Serves the home under load until there was enough, then kills the service. */
async function liveOn({ home, memory }: Life, library: string, trace: string, name: string, random: Random) {
  const service = new ServiceProcess(home)
  let stopping = false
  await service.start({ ...SETTINGS, ...shimmed(library, home, { trace }) })
  const listeningNs = nowNs()
  const from = performance.now()
  const load: Load = {
    url: () => service.url,
    token: service.adminToken,
    project: PROJECT,
    memory,
    mayFallBehind: true,
    closing: () => stopping,
    stopping: () => stopping,
  }
  try {
    const { gone } = await gather(load, name, random)
    const enough = memory.told.length + ANSWERS
    const half = memory.told.length + ANSWERS / 2
    let backup: Promise<void> | undefined
    while (memory.told.length < enough && performance.now() - from < RUN_MS_MAX) {
      if (memory.told.length > half) backup ??= backUp(load, name)
      await sleep(5)
    }
    // Into the first sweep of retention, which runs beside the load.
    await sleep(Math.max(0, retentionFirstSweepMs + 200 - (performance.now() - from)))
    stopping = true
    await service.kill()
    await Promise.all([gone, backup])
  } finally {
    stopping = true
    await service.kill()
  }
  return { memory, listeningNs }
}

/** Starts the service on what the cut left, and compares it with what was acknowledged. */
async function look(home: string, known: Memory, random: Random): Promise<string[]> {
  const service = new ServiceProcess(home)
  try {
    const faults: string[] = []
    // Before anything else opens it: a home that only the service can read would be a fault, too.
    await service.start({ ENGINE_DISK_RESERVE: '1MiB' })
    const at = { url: service.url, token: readFileSync(join(home, 'admin.token'), 'utf8').trim() }
    const log = await wholeLog(at)
    faults.push(...holdsWhatWasTold(known, log), ...watchAgreesWith(known, log))
    faults.push(...(await watchResumes(at, known, log)))
    faults.push(...(await documentsAgreeWith(at, log)))
    faults.push(...(await firedOnce(at, log)))
    faults.push(...(await carriesOn(at)))
    if (random.chance(0.25)) {
      const code = await service.stop()
      if (code !== 0) faults.push(`a graceful stop ended with ${code}: ${service.errors}`)
    } else await service.kill()
    faults.push(...(await verified(home)))
    for (const { path } of known.backups)
      faults.push(...(await verified(join(home, path.slice(path.indexOf('/backups/'))))))
    return faults
  } catch (error) {
    return [`${(error as Error).message} ${service.errors}`]
  } finally {
    await service.kill()
  }
}

/** Checks that new work is taken. */
async function carriesOn({ url, token }: { url: string; token: string }): Promise<string[]> {
  const body = { key: `after-${process.pid}-${nowNs()}`, name: 'After the cut' }
  const { status } = await ask({ method: 'POST', url: `${url}/api/projects`, token, body })
  return status === 201 ? [] : [`after the cut a project was answered ${status}`]
}
