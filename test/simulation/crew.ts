/**
 * Runs worlds on all cores: each worker is a process of its own that runs a few seeds at a time. A world that ends its
 * process (by a signal, out of memory) is a failed seed like any other.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What is reported of a finished world. */
export interface Told {
  readonly seed: number
  readonly events: number
  readonly processes: number
  /** The promise that it broke, in words. */
  readonly fault: string | undefined
  /** SHA-256 of its history, if that was asked for. */
  readonly digest?: string | undefined
}

export interface Handful {
  readonly from: number
  readonly until: number
  /** Seeds whose histories are kept, which costs, for their digests. */
  readonly digestsOf?: readonly number[]
}

export type Report = { readonly kind: 'world'; readonly told: Told } | { readonly kind: 'done'; readonly cpuMs: number }

/** Few, so that little is left to finish once enough was heard; asking for the next costs nothing beside one world. */
const HANDFUL = 4
const WORKER = fileURLToPath(new URL('worker.js', import.meta.url))

/**
 * Runs the seeds in about their order and reports each; `heard` returns whether to go on. What was begun is finished.
 * Returns the CPU time of all of it, milliseconds.
 */
export async function runSeeds(
  { from, until, digestsOf = [] }: Handful,
  workers: number,
  heard: (told: Told) => 'go on' | 'stop',
): Promise<number> {
  let next = from
  let isStopped = false
  const take = (): Handful | undefined => {
    if (isStopped || next >= until) return undefined
    const handful = { from: next, until: Math.min(next + HANDFUL, until), digestsOf }
    next = handful.until
    return handful
  }
  const hear = (told: Told): void => {
    if (heard(told) === 'stop') isStopped = true
  }
  const each = await Promise.all(Array.from({ length: workers }, () => work(take, hear)))
  return each.reduce((sum, ms) => sum + ms, 0)
}

/** Runs one worker until nothing is left, and another in its place when it dies. */
async function work(take: () => Handful | undefined, hear: (told: Told) => void): Promise<number> {
  let cpuMs = 0
  let child: ChildProcess | undefined
  let handful = take()
  while (handful !== undefined) {
    child ??= fork(WORKER)
    const { ended, ...did } = await oneHandful(child, handful, hear)
    cpuMs += did.cpuMs
    if (ended === undefined) {
      handful = take()
      continue
    }
    child = undefined
    hear({ seed: did.next, events: 0, processes: 0, fault: `its process ended (${ended})` })
    handful = did.next + 1 < handful.until ? { ...handful, from: did.next + 1 } : take()
  }
  child?.disconnect()
  return cpuMs
}

interface Did {
  readonly cpuMs: number
  /** The first seed without a report. */
  readonly next: number
  /** How the process ended, if it did. */
  readonly ended: string | undefined
}

function oneHandful(child: ChildProcess, handful: Handful, hear: (told: Told) => void): Promise<Did> {
  return new Promise((resolve) => {
    let next = handful.from
    const finish = (cpuMs: number, ended: string | undefined): void => {
      child.off('message', onReport)
      child.off('exit', onExit)
      resolve({ cpuMs, next, ended })
    }
    const onReport = (report: Report): void => {
      if (report.kind === 'done') finish(report.cpuMs, undefined)
      else {
        next = report.told.seed + 1
        hear(report.told)
      }
    }
    const onExit = (code: number | null, signal: string | null): void => finish(0, signal ?? `code ${code}`)
    child.on('message', onReport)
    child.on('exit', onExit)
    child.send(handful)
  })
}
