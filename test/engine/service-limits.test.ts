/**
 * The limits that the service reports: heartbeats follow its lease, whatever its clock, and commands get the
 * maintenance limits.
 */
import t from 'tap'
import type { Client } from '../../engine/client.ts'
import { ServiceLimits } from '../../engine/service-limits.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

/** A service with a clock that is wrong by `clockMs`, which counts the requests for its limits. */
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

t.test('a heartbeat is due after three tenths of the lease, within 1 s and 18 s', async (t) => {
  for (const [leaseMs, beatMs] of [
    [3_000, 1_000],
    [10_000, 3_000],
    [60_000, 18_000],
    [86_400_000, 18_000],
  ] as const) {
    const { leaseOf, client, end } = service(-3_600_000)
    const limits = new ServiceLimits(client)
    leaseOf(leaseMs)
    await limits.heard(end(leaseMs))
    t.equal(limits.beatMs, beatMs)
  }
})

t.test('the lease is read once, and again at most every minute if it has changed', async (t) => {
  const now = performance.now
  t.teardown(() => {
    performance.now = now
  })
  const s = service(7_000)
  const limits = new ServiceLimits(s.client)
  s.leaseOf(60_000)
  for (let answer = 0; answer < 5; answer += 1) await limits.heard(s.end(60_000 - answer * 100))
  t.equal(s.asked, 1)
  s.leaseOf(5_000)
  await limits.heard(s.end(5_000))
  t.same([s.asked, limits.beatMs], [1, 18_000], 'the answer may just be slow')
  performance.now = () => now.call(performance) + 61_000
  await limits.heard(s.end(5_000))
  t.same([s.asked, limits.beatMs], [2, 1_500])
})

t.test('concurrent runs read the limits once, and a failed read is repeated without effect', async (t) => {
  const s = service()
  const limits = new ServiceLimits(s.client)
  s.body = new Error('away')
  await Promise.all([limits.heard(s.end(5_000)), limits.heard(s.end(5_000))])
  t.same([s.asked, limits.beatMs], [1, 18_000])
  s.body = { name: 'an older service' }
  await limits.heard(s.end(5_000))
  t.same([s.asked, limits.beatMs], [2, 18_000])
})

t.test('a quiet run sends heartbeats in time under a short lease', async (t) => {
  const { service, runner } = await hired(t, 'sleep 2.5')
  service.leaseMs = 3_000
  service.answers.set('runreq_q', { lease_expires_at: new Date(Date.now() + 3_000).toISOString() })
  service.offer(executionRequest('runreq_q'))
  t.same(await runner.finished, ['completed'])
  t.ok(service.said('heartbeat').length >= 2, `${service.said('heartbeat').length} heartbeats`)
})

t.test('a heartbeat that is never answered does not delay the next ones', async (t) => {
  const { service, runner } = await hired(t, 'sleep 2', { heartbeatMs: 300 })
  let beats = 0
  service.misbehave = ({ verb }) => (verb === 'heartbeat' && ++beats === 1 ? 'silence' : undefined)
  service.offer(executionRequest('runreq_d'))
  t.same(await runner.finished, ['completed'])
  t.ok(service.said('heartbeat').length > 1, `${beats} beats`)
})

t.test('a command gets the current maintenance limits in its environment', async (t) => {
  const told = 'echo "$INTENDANT_MAJOR_TASKS_PER_PROJECT/$INTENDANT_MAJOR_TASKS_PER_NIGHT"'
  for (const [said, heard] of [
    [{ major_tasks_per_project: 2, major_tasks_per_night: 0 }, '2/0'],
    [{ major_tasks_per_night: 6 }, '/6'],
    [{ major_tasks_per_project: 'many', major_tasks_per_night: -1 }, '/'],
  ] as const) {
    const { service, runner } = await hired(t, told)
    service.limits = said
    service.offer(executionRequest('runreq_t'))
    t.same(await runner.finished, ['completed'])
    t.equal(service.events()[0].payload.text, `${heard}\n`)
  }
})

t.test('the maintenance limits are read again after a minute, and kept if they cannot be read', async (t) => {
  const now = performance.now
  t.teardown(() => {
    performance.now = now
  })
  const s = service()
  const limits = new ServiceLimits(s.client)
  s.body = { limits: { lease_ms: 60_000, major_tasks_per_project: 2, major_tasks_per_night: 6 } }
  t.same(await limits.majorTasks(), { perProject: 2, perNight: 6 })
  s.body = { limits: { major_tasks_per_project: 3 } }
  t.same(await limits.majorTasks(), { perProject: 2, perNight: 6 })
  t.equal(s.asked, 1)
  performance.now = () => now.call(performance) + 61_000
  t.same(await limits.majorTasks(), { perProject: 3 })
  performance.now = () => now.call(performance) + 122_000
  s.body = new Error('away')
  t.same(await limits.majorTasks(), { perProject: 3 })
})
