/**
 * A home with a long history, a million run requests and ten million events, created once per benchmark for all the
 * questions that need one.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Child } from './child.ts'
import type { Filled, FillJob } from './filler.ts'
import type { Context } from './question.ts'
import type { Scratch } from './scratch.ts'
import { type RunnerAccess, Service } from './service.ts'

export interface FilledHome {
  readonly home: string
  /** Number of run requests in it. */
  readonly entities: number
  readonly events: number
  readonly queued: number
  readonly bytes: number
  /** A runner that is allowed to take the queued work. */
  readonly runner: RunnerAccess
  readonly sampleText: string
}

const EVENTS_EACH = 10
const QUEUED = 1_000
/** What one run request and its ten events take on disk, with indexes and LMDB's half-full pages; rounded up. */
const BYTES_PER_RUN = 20_000

const homes = new WeakMap<Scratch, Promise<FilledHome>>()

/** The home is shared: stop a service on it before another question starts one. */
export function filledHome(context: Context): Promise<FilledHome> {
  const known = homes.get(context.scratch)
  if (known !== undefined) return known
  const made = make(context)
  homes.set(context.scratch, made)
  return made
}

async function make(context: Context): Promise<FilledHome> {
  const wanted = context.quick ? 20_000 : 1_000_000
  const room = Math.floor(context.scratch.freeBytes() / 2 / BYTES_PER_RUN)
  const entities = Math.min(wanted, room)
  if (entities < wanted) context.say(`only ${entities} run requests: the disk has no room for ${wanted}`)
  const home = context.scratch.home()
  const { runner, completed, queued } = await prepare(home)
  context.say(`filling a home with ${entities} run requests`)
  const from = performance.now()
  const filler = new Child('./filler.js')
  const completedCount = entities - QUEUED
  const job: FillJob = { home, completed, queued, completedCount, queuedCount: QUEUED, eventsEach: EVENTS_EACH }
  const { events, sampleText } = await filler.ask<Filled>('fill', job)
  await filler.stop()
  context.say(`filled in ${Math.round((performance.now() - from) / 1000)} s`)
  return { home, entities, events, queued: QUEUED, bytes: bytesUnder(home), runner, sampleText }
}

/** A project, a runner, one completed run and one queued run, all made by the service itself. */
async function prepare(home: string): Promise<{ runner: RunnerAccess; completed: string; queued: string }> {
  const service = await Service.start(home)
  try {
    await service.createProject('bench')
    const runners = await service.createRunners('runner', 1)
    const [run] = await service.startRuns('bench', runners, 1)
    await service.finishRun(run!)
    return { runner: runners[0]!, completed: run!.id, queued: await service.createRunRequest('bench') }
  } finally {
    await service.stop()
  }
}

export function bytesUnder(directory: string): number {
  let bytes = 0
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size
  }
  return bytes
}
