/**
 * The worker side of storage/view/view-thread.ts: runs one job after another, on tables of its own. Between jobs it
 * holds no snapshot of the view.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { environmentPaths } from '../home/home-paths.ts'
import { RowForgetter } from '../retention/forgetter.ts'
import { SegmentedLog } from '../segments/segmented-log.ts'
import { tablesOf } from '../segments/tables.ts'
import { JobGate } from './job-gate.ts'
import { openView } from './lmdb-view.ts'
import type { PackedRows } from './recorded-tables.ts'
import { View } from './view.ts'
import type { JobRequest, StagedRows, ThreadMessage, ThreadStart } from './view-thread.ts'

const { home, gate: shared } = workerData as ThreadStart
const gate = new JobGate(shared)
const tell = (told: ThreadMessage): void => parentPort!.postMessage(told)

const paths = environmentPaths(home)
// The service removes log files only between this thread's jobs.
const log = new SegmentedLog(paths.log, { readOnly: true, isUndisturbed: true })
const view = openView(paths.view, false, (failure) => tell({ repeated: failure.message }))
const forgetter = new RowForgetter(tablesOf(log), new View(view.tables))
/** Rows by the number of their commit. */
const sent = new Map<number, PackedRows[]>()

function take({ commit, rows }: StagedRows): void {
  if (rows === null) sent.delete(commit)
  else if (sent.has(commit)) sent.get(commit)!.push(rows)
  else sent.set(commit, [rows])
}

function commit(number: number): Promise<void> {
  const parts = sent.get(number)!
  sent.delete(number)
  return view.put(parts)
}

async function carryOut({ id, job, argument }: JobRequest): Promise<ThreadMessage> {
  try {
    if (job === 'commit') return { id, result: await commit(argument as number) }
    log.refresh()
    return { id, result: await forgetter[job](argument as never) }
  } catch (error) {
    const { name, message, code } = error as Error & { code?: unknown }
    return { id, error: { name, message, code } }
  } finally {
    view.root.resetReadTxn()
  }
}

async function hear(asked: JobRequest | 'close'): Promise<void> {
  // The process is ending: the job is not begun, and nobody is told.
  if (!gate.enter()) return
  let told: ThreadMessage | undefined
  try {
    if (asked !== 'close') told = await carryOut(asked)
    else {
      await log.close()
      await view.root.close()
      parentPort!.close()
    }
  } finally {
    gate.leave()
  }
  // After leaving the gate: whoever hears of it may rely on no job being under way.
  if (told !== undefined) tell(told)
}

let last = Promise.resolve()
parentPort!.on('message', (message: JobRequest | StagedRows | 'close') => {
  if (message !== 'close' && 'commit' in message) take(message)
  else last = last.then(() => hear(message))
})
gate.leave()
tell('begun')
