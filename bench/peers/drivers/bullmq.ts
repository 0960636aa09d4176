/**
 * BullMQ in two ways: its three calls by hand, one after the other as our client makes its own, and its Worker, which
 * takes the next job in the same command that completes the last.
 */
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { Job, Open } from '../driver.ts'
import type { Address } from '../server.ts'

const QUEUE = 'work'
/** Completed jobs are not kept, as is advised for a queue under load. */
const ONCE = { removeOnComplete: true }

function connections(address: Address): { adding: Redis; taking: Redis; close: () => void } {
  const options = { host: address.host, port: address.port, maxRetriesPerRequest: null }
  const adding = new Redis(options)
  const taking = new Redis(options)
  return { adding, taking, close: () => [adding, taking].map((redis) => redis.disconnect()) }
}

export const calls: Open = async (address) => {
  const { adding, taking, close } = connections(address)
  const queue = new Queue(QUEUE, { connection: adding })
  const worker = new Worker(QUEUE, undefined, { connection: taking, autorun: false, skipStalledCheck: true })
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    cycle: async (client, job) => {
      await queue.add('job', job, ONCE)
      const token = `client-${client}`
      let taken = await worker.getNextJob(token, { block: false })
      while (taken === undefined) taken = await worker.getNextJob(token, { block: false })
      await taken.moveToCompleted('completed', token, false)
    },
    close: async () => {
      await Promise.all([queue.close(), worker.close(true)])
      close()
    },
  }
}

export const worker: Open = async (address, clients) => {
  const { adding, taking, close } = connections(address)
  const queue = new Queue(QUEUE, { connection: adding })
  const waiting = new Map<number, () => void>()
  const worker = new Worker<Job>(QUEUE, async () => 'completed', { connection: taking, concurrency: clients })
  // Emitted after the completion is recorded.
  worker.on('completed', (job) => {
    waiting.get(job.data.serial)?.()
    waiting.delete(job.data.serial)
  })
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    cycle: async (_client, job) => {
      const completed = new Promise<void>((resolve) => waiting.set(job.serial, resolve))
      await queue.add('job', job, ONCE)
      await completed
    },
    close: async () => {
      await Promise.all([queue.close(), worker.close(true)])
      close()
    },
  }
}
