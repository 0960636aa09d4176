/** The other side of storage/forgetting-thread.ts: carries out one job after another, on tables of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import { RowForgetter } from './forgetter.ts'
import type { Asked, Begun, Told } from './forgetting-thread.ts'
import { JobGate } from './job-gate.ts'
import { openAgain } from './lmdb-tables.ts'
import { View } from './view.ts'

const { home, gate: shared } = workerData as Begun
const gate = new JobGate(shared)
const tell = (told: Told): void => parentPort!.postMessage(told)

const environments = await openAgain(home, (failure) => tell({ repeated: failure.message }))
const forgetter = new RowForgetter(environments.log, new View(environments.view))

async function carryOut({ id, job, argument }: Asked): Promise<Told> {
  try {
    return { id, result: await forgetter[job](argument as never) }
  } catch (error) {
    const { name, message, code } = error as Error & { code?: unknown }
    return { id, error: { name, message, code } }
  } finally {
    environments.refresh()
  }
}

async function hear(asked: Asked | 'close'): Promise<void> {
  // The process is ending: what was asked for is not begun, and nobody hears of it.
  if (!gate.enter()) return
  try {
    if (asked !== 'close') tell(await carryOut(asked))
    else {
      await environments.close()
      parentPort!.close()
    }
  } finally {
    gate.leave()
  }
}

let last = Promise.resolve()
parentPort!.on('message', (asked: Asked | 'close') => {
  last = last.then(() => hear(asked))
})
gate.leave()
