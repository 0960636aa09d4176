/** A hand-made queue in Redis with three bare commands: the minimum there. */
import { Redis } from 'ioredis'
import type { Open } from '../driver.ts'

export const lists: Open = async (address) => {
  const redis = new Redis({ host: address.host, port: address.port })
  return {
    cycle: async (_client, job) => {
      await redis.lpush('waiting', JSON.stringify(job))
      let taken = await redis.lmove('waiting', 'taken', 'RIGHT', 'LEFT')
      while (taken === null) taken = await redis.lmove('waiting', 'taken', 'RIGHT', 'LEFT')
      JSON.parse(taken)
      await redis.lrem('taken', -1, taken)
    },
    close: async () => redis.disconnect(),
  }
}
