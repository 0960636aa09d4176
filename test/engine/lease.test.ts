/** Heartbeats follow the lease that the service has, whatever its clock says. */
import t from 'tap'
import type { Client } from '../../engine/client.ts'
import { Lease } from '../../engine/lease.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

/** A service that says that of its leases, by a clock that is wrong by so much; and how often it was asked. */
function service(clockMs = 0) {
  const self = {
    body: {} as unknown,
    asked: 0,
    client: {
      url: '',
      request: async () => {
        self.asked += 1
        if (self.body instanceof Error) throw self.body
        return { status: 200, headers: new Headers(), body: self.body }
      },
    } as unknown as Client,
    leaseOf: (ms: number) => {
      self.body = { limits: { lease_ms: ms } }
    },
    end: (ms: number) => new Date(Date.now() + clockMs + ms).toISOString(),
  }
  return self
}

t.test(
  'a beat is due when three tenths of the lease are over, once a second at most and every 18 s at least',
  async (t) => {
    for (const [leaseMs, beatMs] of [
      [3_000, 1_000],
      [10_000, 3_000],
      [60_000, 18_000],
      [86_400_000, 18_000],
    ] as const) {
      const { leaseOf, client, end } = service(-3_600_000)
      const lease = new Lease(client)
      leaseOf(leaseMs)
      await lease.heard(end(leaseMs))
      t.equal(lease.beatMs, beatMs)
    }
  },
)

t.test('a lease is read once, and again when it has changed, not more often than each minute', async (t) => {
  const now = performance.now
  t.teardown(() => {
    performance.now = now
  })
  const s = service(7_000)
  const lease = new Lease(s.client)
  s.leaseOf(60_000)
  for (let answer = 0; answer < 5; answer += 1) await lease.heard(s.end(60_000 - answer * 100))
  t.equal(s.asked, 1)
  s.leaseOf(5_000)
  await lease.heard(s.end(5_000))
  t.same([s.asked, lease.beatMs], [1, 18_000], 'it may only be slow')
  performance.now = () => now.call(performance) + 61_000
  await lease.heard(s.end(5_000))
  t.same([s.asked, lease.beatMs], [2, 1_500])
})

t.test('runs that ask at one time ask once; what was not answered is asked again, and changes nothing', async (t) => {
  const s = service()
  const lease = new Lease(s.client)
  s.body = new Error('away')
  await Promise.all([lease.heard(s.end(5_000)), lease.heard(s.end(5_000))])
  t.same([s.asked, lease.beatMs], [1, 18_000])
  s.body = { name: 'an older service' }
  await lease.heard(s.end(5_000))
  t.same([s.asked, lease.beatMs], [2, 18_000])
})

t.test('a quiet run is heard of in time under a short lease', async (t) => {
  const { service, runner } = await hired(t, 'sleep 2.5')
  service.leaseMs = 3_000
  service.answers.set('runreq_q', { lease_expires_at: new Date(Date.now() + 3_000).toISOString() })
  service.offer(executionRequest('runreq_q'))
  t.same(await runner.finished, ['completed'])
  t.ok(service.said('heartbeat').length >= 2, `${service.said('heartbeat').length} heartbeats`)
})

t.test('a heartbeat that is never answered leaves the next ones their time', async (t) => {
  const { service, runner } = await hired(t, 'sleep 2', { heartbeatMs: 300 })
  let beats = 0
  service.misbehave = ({ verb }) => (verb === 'heartbeat' && ++beats === 1 ? 'silence' : undefined)
  service.offer(executionRequest('runreq_d'))
  t.same(await runner.finished, ['completed'])
  t.ok(service.said('heartbeat').length > 1, `${beats} beats`)
})
