/**
 * Kills the real service again and again under load, at moments of every kind: while it starts, in the middle of
 * commits and folds, in a retention sweep, in a backup. Proves at the end that nothing acknowledged was lost, nothing
 * happened twice, and those around it carried on by themselves.
 */
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { retentionFirstSweepMs } from '../../runtime/limits.ts'
import { Random } from '../random.ts'
import { backUp, type Load, read } from './actors.ts'
import { campaignsHoldTogether } from './campaigners.ts'
import { documentsAgreeWith, holdsWhatWasTold, itemsAgreeWith, verified, watchAgreesWith, wholeLog } from './check.ts'
import { FORMED_PROJECT, gather, PROJECT } from './crowd.ts'
import { briefsHoldTogether } from './formers.ts'
import { Memory } from './memory.ts'
import { intentHoldsTogether } from './reviewers.ts'
import { ServiceProcess } from './service-process.ts'
import { firedOnce } from './timekeepers.ts'

export interface KillOptions {
  readonly kills: number
  readonly seed: number
  /** An empty folder. */
  readonly home: string
  readonly say: (line: string) => void
}

export interface KillReport {
  readonly faults: readonly string[]
  /** Kills by what they were aimed at. */
  readonly aims: Readonly<Record<string, number>>
  /** Runs and events that were acknowledged, and in how many milliseconds of service. */
  readonly completed: number
  /** Hypotheses whose acceptance was acknowledged. */
  readonly reviewed: number
  /** Briefs whose compile was acknowledged. */
  readonly formed: number
  /** Campaigns that were worked off. */
  readonly worked: number
  /** Firings of sentinels by hand that were acknowledged. */
  readonly fired: number
  readonly events: number
  readonly servedMs: number
  readonly forgotten: number
  readonly backups: number
}

type Aim = 'start' | 'load' | 'sweep' | 'backup'
const AIM_OF_TEN: readonly Aim[] = [
  'load',
  'load',
  'load',
  'load',
  'load',
  'start',
  'start',
  'backup',
  'backup',
  'sweep',
]
/** One in this many kills is followed by a check of the home before anything else touches it. */
const VERIFY_EVERY = 10
/** Short, so that sweeps find something; long enough for a watcher to come back in time on a busy machine. */
const SETTINGS = {
  ENGINE_RETENTION: '40s',
  ENGINE_IDEMPOTENCY: '40s',
  ENGINE_LATE_EVENTS: '40s',
  ENGINE_DISK_RESERVE: '1MiB',
  // Full after some hundred answers, so that cuts and kills hit the change of files, and retention frees files.
  ENGINE_LOG_FILE_MAX: '128KiB',
}
/**
 * A kill during the load comes after at most this many answers or this long; later if hardly anything was answered by
 * then.
 */
const ANSWERS_MAX = 400
const LIFE_MS_MAX = 2_000
const LEAST_SHARE = 0.25
const SLOW_LIFE_MS_MAX = 10_000
/** At the end of a life, a kill comes at any moment in this many milliseconds: a backup takes longest. */
const DELAY_MS: Readonly<Record<Aim, number>> = { start: 50, load: 10, sweep: 150, backup: 2_000 }
/** Some come just after the backup was reported complete, which takes seconds beside the load. */
const WHOLE_SHARE = 0.4
const BACKUP_MS_MAX = 15_000
/** About how long a start takes. */
const START_MS = 700
const SETTLED_MS_MAX = 90_000

export async function killAgainAndAgain({ kills, seed, home, say }: KillOptions): Promise<KillReport> {
  const random = new Random(seed)
  const service = new ServiceProcess(home)
  await service.start(SETTINGS)
  const memory = new Memory()
  let closing = false
  let stopping = false
  const { adminToken: token } = service
  const load: Load = {
    url: () => service.url,
    token,
    project: PROJECT,
    memory,
    closing: () => closing,
    stopping: () => stopping,
  }
  const faults: string[] = []
  const aims: Record<string, number> = {}
  let backups = 0
  let servedMs = 0
  let shown = 0
  try {
    const crowd = await gather(load, 'first', random)
    for (let kill = 0; kill < kills; kill += 1) {
      const aim = random.pick(AIM_OF_TEN)
      aims[aim] = (aims[aim] ?? 0) + 1
      servedMs += await killOnce(service, load, aim, kill, random)
      if (kill % VERIFY_EVERY === VERIFY_EVERY - 1) {
        backups += memory.backups.length
        faults.push(...(await lookAt(home, memory)))
        faults.push(...memory.faults.splice(0))
        say(`${kill + 1} kills, ${memory.created.size} runs asked for, ${faults.length} faults`)
        for (const fault of faults.slice(shown)) say(`  ${fault}`)
        shown = faults.length
      }
      await service.start(SETTINGS)
    }
    closing = true
    await crowd.closed
    faults.push(...(await allIsSettled(load)))
    faults.push(...(await intentHoldsTogether(load, crowd.reviewed)))
    faults.push(...(await briefsHoldTogether({ ...load, project: FORMED_PROJECT }, crowd.formed)))
    faults.push(...(await campaignsHoldTogether(load, crowd.worked)))
    const log = await wholeLog({ url: service.url, token })
    for (let tries = 0; tries < 100 && memory.cursor.split('.')[1] !== log.last.toString(36); tries += 1)
      await sleep(50)
    stopping = true
    await crowd.gone
    faults.push(...memory.faults)
    const watched = { facts: memory.watchedFacts, before: 0, last: log.last }
    faults.push(...holdsWhatWasTold(memory, watched), ...watchAgreesWith(memory, log))
    faults.push(...(await documentsAgreeWith({ url: service.url, token }, log)))
    faults.push(...(await itemsAgreeWith({ url: service.url, token }, log)))
    faults.push(...(await firedOnce({ url: service.url, token }, log)))
    const code = await service.stop()
    if (code !== 0) faults.push(`a graceful stop ended with ${code}: ${service.errors}`)
    backups += memory.backups.length
    faults.push(...(await lookAt(home, memory)))
    const completed = memory.told.filter(({ key }) => key.startsWith('run_request_completed')).length
    const reviewed = crowd.reviewed.accepted.size
    const formed = crowd.formed.length
    const worked = crowd.worked.length
    const fired = memory.told.filter(({ key }) => key.startsWith('sentinel_fired')).length
    return {
      faults,
      aims,
      completed,
      reviewed,
      formed,
      worked,
      fired,
      events: log.last,
      servedMs,
      forgotten: log.before,
      backups,
    }
  } catch (error) {
    // A service that does not start again is the worst fault.
    faults.push(...memory.faults, (error as Error).message)
    say(`  ${(error as Error).message}`)
    return {
      faults,
      aims,
      completed: 0,
      reviewed: 0,
      formed: 0,
      worked: 0,
      fired: 0,
      events: 0,
      servedMs,
      forgotten: 0,
      backups,
    }
  } finally {
    stopping = true
    await service.kill()
  }
}

/** Lets the service live for a while, and ends it. Resolves to the milliseconds for which it answered. */
async function killOnce(service: ServiceProcess, load: Load, aim: Aim, kill: number, random: Random): Promise<number> {
  const from = performance.now()
  // Counted in answers, not in time, so that as much happens on a busy machine as on an idle one.
  await answers(load.memory, aim === 'load' ? ANSWERS_MAX * random.next() : 20 * random.next())
  let backup: Promise<void> | undefined
  if (aim === 'backup') backup = backUp(load, `backup-${kill}`)
  if (aim === 'sweep') await sleep(Math.max(0, retentionFirstSweepMs - (performance.now() - from)))
  if (backup !== undefined && random.chance(WHOLE_SHARE))
    await Promise.race([backup, sleep(BACKUP_MS_MAX, undefined, { ref: false })])
  await sleep(random.next() * DELAY_MS[aim])
  await service.kill()
  await backup
  const servedMs = performance.now() - from
  if (aim === 'start') {
    // And once more, while it opens its files and starts.
    await service.spawn(SETTINGS)
    await sleep(random.next() * START_MS)
    await service.kill()
  }
  return servedMs
}

async function answers(memory: Memory, count: number): Promise<void> {
  const before = memory.told.length
  const from = performance.now()
  for (;;) {
    const heard = memory.told.length - before
    const lifeMs = heard < count * LEAST_SHARE ? SLOW_LIFE_MS_MAX : LIFE_MS_MAX
    if (heard >= count || performance.now() - from >= lifeMs) return
    await sleep(1)
  }
}

/**
 * Checks the home and the backups that were reported complete; those checked at once are removed, to save disk space.
 */
async function lookAt(home: string, memory: Memory): Promise<string[]> {
  const faults = await verified(home)
  for (const { path } of memory.backups.splice(0)) {
    faults.push(...(await verified(path)))
    rmSync(path, { recursive: true, force: true })
  }
  return faults
}

/** Waits until every request that was made has ended according to the log. */
async function allIsSettled(load: Load): Promise<string[]> {
  const before = performance.now()
  for (;;) {
    let unsettled = ''
    for (const state of ['queued', 'offered', 'accepted', 'started', 'cancelling', 'lost']) {
      const page = await read(load, `/api/run-requests?state=${state}&limit=5`)
      for (const { id } of page.items) unsettled += ` ${id} ${state}`
    }
    if (unsettled === '') return []
    if (performance.now() - before > SETTLED_MS_MAX) return [`never ended:${unsettled}`]
    await sleep(200)
  }
}
