/** pg-boss by its three calls. Its own `work` polls every half second at best, so that pause would be measured. */
import PgBoss from 'pg-boss'
import type { Open } from '../driver.ts'

const QUEUE = 'work'
/** Tried from 10 to 64: about the best here. */
const CONNECTIONS_MAX = 12

export const pgBoss: Open = async (address, clients) => {
  const { host, port, user, database } = address as Record<string, any>
  // Maintenance during the measured calls would count against it.
  const quiet = { supervise: false, schedule: false }
  const boss = new PgBoss({ host, port, user, database, max: Math.min(clients, CONNECTIONS_MAX), ...quiet })
  await boss.start()
  await boss.createQueue(QUEUE)
  return {
    cycle: async (_client, job) => {
      await boss.send(QUEUE, job)
      let [taken] = await boss.fetch(QUEUE)
      while (taken === undefined) [taken] = await boss.fetch(QUEUE)
      await boss.complete(QUEUE, taken.id)
    },
    close: () => boss.stop({ graceful: false, close: true, wait: true }),
  }
}
