/** Runs a scheduler on a ledger of a given size, in a process of its own, and times its ticks. */

import { projectIdOf } from '../machines/ids.ts'
import { modules } from '../machines/index.ts'
import { PACING } from '../machines/pacing.ts'
import type { Platform } from '../runtime/api.ts'
import { createDispatcher } from '../runtime/dispatch/dispatcher.ts'
import { silentLogger } from '../runtime/log.ts'
import { createRuntime } from '../runtime/runtime.ts'
import { createScheduler } from '../runtime/scheduler/scheduler.ts'
import { defaultSettings } from '../runtime/settings.ts'
import { openDiskJournal } from '../storage/open-journal.ts'
import { systemPlatform } from '../storage/platform.ts'
import { answerRequests } from './child.ts'
import { quantile } from './statistics.ts'

export interface Ledger {
  readonly home: string
  readonly settled: number
  readonly waiting: number
  /** What holds the waiting items back. */
  readonly blockedBy: 'repository' | 'lane' | 'cap'
}

export interface Ticks {
  readonly p50Ms: number
  readonly p99Ms: number
}

const BY = { id: 'tok_1', name: 'bench' }
const PROJECT = 'bench'
/** How many requests are sent at a time, so that mailboxes and the view keep up. */
const AT_ONCE = 2_000
const WARM_UP_TICKS = 200

/** Duration of each turn of the scheduler, milliseconds. */
const took: number[] = []
let wake = async (): Promise<void> => {}

async function openRuntime({ home, blockedBy }: Ledger) {
  const settings = { ...defaultSettings, home, diskReserveBytes: 0, maxRunning: blockedBy === 'cap' ? 0 : 4 }
  const onFatal = (failure: Error): void => {
    throw failure
  }
  const journal = await openDiskJournal({ ...settings, onFailure: onFatal })
  const runtime = createRuntime(journal, settings, { platform: systemPlatform, log: silentLogger, modules, onFatal })
  const ask = (kind: string, id: string, message: object) =>
    runtime.askAsync({ kind, id } as never, { by: BY, ...message } as never)
  return { runtime, ask }
}

async function fill(ledger: Ledger): Promise<void> {
  const { runtime, ask } = await openRuntime(ledger)
  const { settled, waiting, blockedBy } = ledger
  const projectId = projectIdOf(PROJECT)
  await ask('project', projectId, { type: 'create', id: projectId, key: PROJECT, name: PROJECT })
  const create = (n: number) => ask('work_item', itemId(n), createOf(n, projectId))
  await inTurn(settled, async (n) => {
    await create(n)
    await ask('work_item', itemId(n), { type: 'cancel' })
  })
  await inTurn(waiting + 1, (n) => create(settled + n))
  if (blockedBy === 'lane') await ask('pacing', PACING.id, { type: 'pause', lanes: ['interactive'] })
  await runtime.close()
}

/**
 * Opens the ledger. Resolves to the time from the scheduler's creation to its first look at everything, milliseconds.
 */
async function open(ledger: Ledger): Promise<number> {
  const { runtime, ask } = await openRuntime(ledger)
  wake = async () => {
    const before = took.length
    await ask('pacing', PACING.id, { type: 'resume', lanes: ['campaign'] })
    await until(() => took.length > before)
  }
  const timed = Object.create(runtime, { platform: { value: timedPlatform() } })
  // There is no runner, and the rules are to be evaluated to the end.
  const dispatcher = Object.create(createDispatcher(timed, silentLogger), { hasTaker: { value: () => true } })
  const began = performance.now()
  const scheduler = createScheduler(timed, dispatcher, silentLogger)
  await until(() => took.length > 0)
  const startMs = performance.now() - began
  // The one item that may start is handed out, and the others wait for it.
  await until(() => ledger.blockedBy !== 'repository' || scheduler.view().runningCount === 1)
  for (let done = 0; done < WARM_UP_TICKS; done++) await wake()
  return startMs
}

function timedPlatform(): Platform {
  return Object.assign(Object.create(Object.getPrototypeOf(systemPlatform)), systemPlatform, {
    nextTurn: (callback: () => void) =>
      systemPlatform.nextTurn(() => {
        const began = performance.now()
        callback()
        took.push(performance.now() - began)
      }),
  })
}

async function ticks(count: number): Promise<Ticks> {
  took.length = 0
  while (took.length < count) await wake()
  return { p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) }
}

function itemId(n: number): string {
  return `wi_${n.toString(16).padStart(24, '0')}`
}

function createOf(n: number, projectId: string): object {
  return {
    type: 'create',
    id: itemId(n),
    project: PROJECT,
    project_id: projectId,
    objective: `Work number ${n}, with a sentence that says what is to be done and why it matters`,
    kind: 'task',
    lane: 'interactive',
    origin: 'bench',
    source: { kind: 'operator', ref: 'bench' },
    submitted_by: BY,
    reason: 'as told',
    trace_id: n.toString(16).padStart(32, 'a'),
  }
}

async function inTurn(count: number, make: (n: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - from)
    await Promise.all(Array.from({ length: size }, (_, n) => make(from + n)))
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
}

answerRequests({ fill, open, ticks })
