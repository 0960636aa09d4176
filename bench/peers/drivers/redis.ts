/** A queue of one's own in Redis, three bare commands: the least that can be done there. */
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
