/** Ages count by the clock of the service, whatever this machine's says. */
import t from 'tap'
import { cli, service } from './in-process.ts'

const HOUR_MS = 3_600_000

t.test('ages count by the service’s clock', async (t) => {
  for (const aheadMs of [-3 * HOUR_MS, 0, 5 * HOUR_MS]) {
    // `Date` has whole seconds.
    const nowMs = Math.floor(Date.now() / 1_000) * 1_000 + aheadMs
    const at = (minutes: number) => new Date(nowMs - minutes * 60_000).toISOString()
    const date = new Date(nowMs).toUTCString()
    const project = { id: 'proj_1', key: 'shop', name: 'Shop', state: 'active', created_at: at(5) }
    const seen = { presence: 'online', last_seen_at: at(7), in_flight: [] }
    const runner = { id: 'r1', state: 'registered', capacity: 1, labels: [], allowed_projects: ['*'], ...seen }
    const { env } = await service(t, ({ url }) => [
      200,
      { items: [url.startsWith('/api/runners') ? runner : project] },
      { date },
    ])
    t.match((await cli(env, 'project', 'list')).out, /shop +active +5m /, `AGE: ${aheadMs} ms ahead`)
    t.match((await cli(env, 'runner', 'list')).out, / 7m /, 'SEEN')
  }
})
