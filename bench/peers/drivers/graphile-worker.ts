/**
 * graphile-worker in two ways: with its defaults, and with its batching (`localQueue`, `completeJobBatchDelay`), which
 * it recommends under load. Both learn of new jobs by NOTIFY.
 */
import { EventEmitter } from 'node:events'
import { Logger, makeWorkerUtils, run, type WorkerEvents } from 'graphile-worker'
import { Pool } from 'pg'
import type { Job, Open } from '../driver.ts'

const TASK = 'work'
/** Tried from 10 to 64: about the best here. Three more are added for its work besides jobs. */
const CONNECTIONS_MAX = 12
const logger = new Logger(() => () => {})

type Batching = { readonly localQueue?: { readonly size: number }; readonly completeJobBatchDelay?: number }

function open(batching: (clients: number) => Batching): Open {
  return async (address, clients) => {
    const { host, port, user, database } = address as Record<string, any>
    const pool = new Pool({ host, port, user, database, max: Math.min(clients, CONNECTIONS_MAX) + 3 })
    pool.on('error', () => {})
    pool.on('connect', (client) => void client.on('error', () => {}))
    const events: WorkerEvents = new EventEmitter()
    const waiting = new Map<number, () => void>()
    // Emitted after the completion is recorded.
    events.on('job:complete', ({ job }) => {
      const { serial } = job.payload as Job
      waiting.get(serial)?.()
      waiting.delete(serial)
    })
    const common = { pgPool: pool, logger }
    const utils = await makeWorkerUtils(common)
    await utils.migrate()
    const worker = { concurrentJobs: clients, ...batching(clients) }
    const taskList = { [TASK]: async () => {} }
    const runner = await run({ ...common, preset: { worker }, events, taskList, noHandleSignals: true })
    return {
      cycle: async (_client, job) => {
        const completed = new Promise<void>((resolve) => waiting.set(job.serial, resolve))
        await utils.addJob(TASK, job)
        await completed
      },
      close: async () => {
        await runner.stop()
        await utils.release()
        await pool.end()
      },
    }
  }
}

export const asItComes: Open = open(() => ({}))
export const batching: Open = open((clients) => ({ localQueue: { size: clients + 1 }, completeJobBatchDelay: 0 }))
