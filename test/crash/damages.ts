/**
 * Damages the files of a home while no service runs, starts the real service there, and says what happened: it refused
 * with a reason, or it served. Bits are flipped anywhere in the pages, more often where the structure is.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, cpSync, fstatSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { dataFilesOf } from '../../storage/home/home-paths.ts'
import { framesFrom } from '../../storage/segments/frames-in.ts'
import { Random } from '../random.ts'
import type { Load } from './actors.ts'
import { documentsAgreeWith, holdsWhatWasTold, wholeLog } from './check.ts'
import { gather, PROJECT } from './crowd.ts'
import { Memory } from './memory.ts'
import { ServiceProcess } from './service-process.ts'

const RESERVE = { ENGINE_DISK_RESERVE: '0' }
const PAGE_BYTES = 4096
/** Headers, and the offsets of the first nodes. */
const STRUCTURE_BYTES = 64
export const WAY_BACK = /put .* back|restore a backup/

export const PARTS = ['log', 'view'] as const
/** The view's file, or the newest of the log. */
export const dataFile = (home: string, part: (typeof PARTS)[number]): string => dataFilesOf(join(home, part)).at(-1)!

/** Uses the home until this many answers were given, and kills the service. */
export async function liveIn(home: string, answers: number): Promise<Memory> {
  mkdirSync(home, { recursive: true })
  const memory = new Memory()
  const service = new ServiceProcess(home)
  await service.start(RESERVE)
  let stopping = false
  const done = () => stopping
  const url = () => service.url
  const load: Load = { url, token: service.adminToken, project: PROJECT, memory, closing: done, stopping: done }
  const { gone } = await gather(load, `load-${answers}`, new Random(1))
  while (memory.told.length < answers) await sleep(5)
  stopping = true
  await service.kill()
  await gone
  return memory
}

export interface Outcome {
  /** Whether it listened. */
  readonly served: boolean
  /** What it served wrongly, lacked, or could not read. */
  readonly wrong: readonly string[]
  /** What it wrote to standard error. */
  readonly words: string
  /**
   * The faults of this outcome: it died, it refused without a reason or where `verify` finds nothing, or it served
   * something wrong that `verify` does not report.
   */
  readonly faults: readonly string[]
}

const VERIFIER = fileURLToPath(new URL('verifier.js', import.meta.url))
let verifier: ChildProcess | undefined

/** How `intendant verify` ended there: with an exit code, or, what should not be, by the end of its process. */
interface Verified {
  readonly status?: number
  readonly endedBy?: string
}

function verifyIn(home: string): Promise<Verified> {
  verifier ??= fork(VERIFIER)
  const child = verifier
  // In between it keeps this process from ending no more than this one keeps it.
  child.ref()
  child.channel!.ref()
  return new Promise((resolve) => {
    const settle = (verified: Verified): void => {
      child.off('message', onStatus).off('exit', onExit)
      child.unref()
      child.channel?.unref()
      resolve(verified)
    }
    const onStatus = (status: number): void => settle({ status })
    const onExit = (code: number | null, signal: string | null): void => {
      verifier = undefined
      settle({ endedBy: signal ?? `code ${code}` })
    }
    child.on('message', onStatus).on('exit', onExit)
    child.send(home)
  })
}

/** Starts the service on the damaged home, reads everything, and asks `verify`. */
export async function outcomeOf(home: string, memory: Memory): Promise<Outcome> {
  const service = new ServiceProcess(home)
  try {
    await service.start(RESERVE)
  } catch {
    const { code, signal } = await service.ended()
    const faults = code === 1 && signal === null ? [] : [`it ended with ${code ?? signal}: ${service.errors}`]
    if (!WAY_BACK.test(service.errors)) faults.push(`it says no way back: ${service.errors}`)
    const verified = await verifyIn(home)
    if (verified.status !== 1)
      faults.push(`it is refused, and verify ended with ${verified.status ?? verified.endedBy}`)
    return { served: false, wrong: [], words: service.errors, faults }
  }
  const wrong: string[] = []
  const faults: string[] = []
  try {
    const at = { url: service.url, token: service.adminToken }
    const log = await wholeLog(at)
    wrong.push(...holdsWhatWasTold(memory, log), ...(await documentsAgreeWith(at, log)))
  } catch (error) {
    wrong.push((error as Error).message)
  }
  const code = await service.stop()
  if (code !== 0) faults.push(`it served, and ended with ${JSON.stringify(await service.ended())}: ${service.errors}`)
  const { status, endedBy } = await verifyIn(home)
  if (endedBy !== undefined) faults.push(`verify ended by ${endedBy}`)
  if (wrong.length > 0 && status === 0) faults.push(`it served what is wrong, and verify finds nothing: ${wrong}`)
  return { served: true, wrong, words: service.errors, faults }
}

export interface DamageReport {
  readonly faults: readonly string[]
  readonly refused: number
  readonly served: number
  /** Of those: something was missing, and `verify` reported it. */
  readonly named: number
}

/**
 * Flips one bit at a time, anywhere but in the last frame of the log, which cannot be told from one that was never
 * finished.
 */
export async function hurtAgainAndAgain(options: {
  readonly damages: number
  readonly seed: number
  /** An empty folder. */
  readonly folder: string
  readonly say: (line: string) => void
}): Promise<DamageReport> {
  const { damages, seed, folder, say } = options
  const random = new Random(seed)
  const home = join(folder, 'home')
  const memory = await liveIn(home, 600)
  const spared = lastFrame(dataFile(home, 'log'))
  const faults: string[] = []
  let served = 0
  let named = 0
  for (let damage = 0; damage < damages; damage += 1) {
    const hurt = join(folder, `hurt-${damage}`)
    cpSync(home, hurt, { recursive: true })
    const what = flip(hurt, random, spared)
    const outcome = await outcomeOf(hurt, memory)
    for (const fault of outcome.faults) {
      faults.push(`${what}: ${fault}`)
      say(`  ${what}: ${fault}`)
    }
    if (outcome.faults.length === 0) rmSync(hurt, { recursive: true, force: true })
    if (outcome.served) served += 1
    if (outcome.wrong.length > 0) named += 1
    if (damage % 25 === 24)
      say(`${damage + 1} damages, ${served} served, ${named} of them named, ${faults.length} faults`)
  }
  return { faults, refused: damages - served, served, named }
}

/** The bytes of a file. */
interface Span {
  readonly from: number
  readonly to: number
}

function lastFrame(path: string): Span {
  const file = openSync(path, 'r')
  try {
    let last: Span = { from: 0, to: 0 }
    for (const { at, frame } of framesFrom(file, 0, fstatSync(file).size, 'checked'))
      last = { from: at, to: at + frame.bytes }
    return last
  } finally {
    closeSync(file)
  }
}

function flip(home: string, random: Random, spared: Span): string {
  const part = random.pick(PARTS)
  const file = dataFile(home, part)
  const bytes = readFileSync(file)
  const page = random.below(bytes.length / PAGE_BYTES)
  const at = random.below(random.chance(0.5) ? STRUCTURE_BYTES : PAGE_BYTES)
  const bit = random.below(8)
  const byte = page * PAGE_BYTES + at
  if (part === 'log' && byte >= spared.from && byte < spared.to) return flip(home, random, spared)
  bytes[byte]! ^= 1 << bit
  writeFileSync(file, bytes)
  return `bit ${bit} of byte ${at} of page ${page} of the ${part}`
}
