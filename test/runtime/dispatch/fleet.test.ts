import t from 'tap'
import type { Fleet } from '../../../runtime/dispatch/fleet.ts'
import { presenceRetryMs } from '../../../runtime/limits.ts'
import { poll } from './fake.ts'
import { restarted, startedBy, world } from './world.ts'

const presenceMs = 180_000

t.test('a call brings a runner online and silence takes it offline, each recorded once', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  t.same(dispatcher.runnerSeen('r1'), { presence: 'never_seen', in_flight: [] })
  dispatcher.touch('r1')
  dispatcher.touch('r1')
  fake.run()
  t.match(dispatcher.runnerSeen('r1'), { presence: 'online', last_seen_at: '2026-01-01T00:00:01.000Z' })
  fake.platform.advance(presenceMs - 1)
  dispatcher.touch('r1')
  fake.platform.advance(presenceMs - 1)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online', 'a call restarts the presence time')
  fake.platform.advance(100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
  t.same(fake.asked, ['came_online r1', 'went_offline r1'])
  dispatcher.touch('r1')
  fake.run()
  t.equal(fake.asked.at(-1), 'came_online r1')
})

t.test('a runner does not count as silent for the time in which the service stood still', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  dispatcher.touch('r1')
  fake.run()
  // The process is stopped, or a flush hangs; what was sent meanwhile is only read later.
  fake.platform.nowMs += presenceMs + 10_000
  fake.platform.advance(presenceMs - 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  fake.platform.advance(200)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
})

t.test('a service that stands still again and again does not keep a vanished runner online', async (t) => {
  const { fake, dispatcher } = world({ gone: {}, there: {} })
  for (const id of ['gone', 'there']) dispatcher.touch(id)
  fake.run()
  const standStill = () => {
    fake.platform.nowMs += presenceMs + 10_000
    fake.platform.advance(100)
    return ['gone', 'there'].map((id) => dispatcher.runnerSeen(id).presence)
  }
  t.same(standStill(), ['online', 'online'])
  dispatcher.touch('there')
  t.same(standStill(), ['offline', 'online'])
  dispatcher.touch('gone')
  t.same(standStill(), ['online', 'offline'])
})

t.test('a runner that has stopped calling is not expected to poll, long before it counts as offline', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const wanted = {
    project: 'acme',
    throttle: 'dry_run',
    access: 'full',
    entryEvent: 'greet_requested',
    labels: [],
    furtherProjects: [],
    pin: 'r1',
  } as const
  const stands = () => [dispatcher.isExpected(wanted), dispatcher.freeTakers()(wanted), dispatcher.hasTaker(wanted)]
  t.same(stands(), [false, false, false])
  const asked = poll(dispatcher, 'r1', 100_000)
  fake.platform.advance(90_000)
  t.same(stands(), [true, true, true], 'its poll is parked')
  asked.handle.abort()
  fake.platform.advance(4_000)
  t.same(stands(), [true, true, true], 'its connection broke a moment ago')
  const id = fake.create({ runner_id: 'r1' })
  fake.run()
  t.match(dispatcher.waitingBecause(id)?.detail, /^Goes to the next poll of r1 when/)
  fake.platform.advance(2_000)
  t.same(stands(), [false, false, true])
  t.match(dispatcher.waitingBecause(id)?.detail, /^Goes to the next poll of r1, which is not polling now/)
  dispatcher.touch('r1')
  fake.platform.advance(59_000)
  t.same(stands(), [true, true, true], 'it calls now, and needs to call only once a minute')
  fake.platform.advance(2_000)
  t.same(stands(), [false, false, true])
})

t.test('a runner with a parked poll stays online for as long as the poll lasts', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const asked = poll(dispatcher, 'r1', presenceMs * 3)
  fake.platform.advance(presenceMs * 2)
  t.equal(asked.answer, undefined)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  asked.handle.abort()
  fake.platform.advance(presenceMs + 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
})

t.test('a restart gives an online runner the full presence time again', async (t) => {
  const before = world({ r1: { online: true } })
  const { fake, dispatcher } = restarted(before)
  fake.platform.advance(presenceMs - 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  t.same(fake.asked, [])
  fake.platform.advance(200)
  t.same(fake.asked, ['went_offline r1'])
})

t.test('a restart keeps the last_seen_at of a runner', async (t) => {
  const before = world({ r1: {} })
  before.dispatcher.touch('r1')
  before.fake.platform.advance(presenceMs + 100)
  const seen = before.dispatcher.runnerSeen('r1')
  t.match(seen, { presence: 'offline', last_seen_at: '2026-01-01T00:00:01.000Z' })
  t.same(restarted(before).dispatcher.runnerSeen('r1'), seen)
})

t.test('after a restart a runner was last seen when its process started, if nothing later is known', async (t) => {
  const session = { instance: 'a', version: '1', started_at: '2026-01-01T00:10:00.000000Z' }
  const before = world({ r1: { session } })
  before.dispatcher.touch('r1')
  before.fake.run()
  const { fake, dispatcher } = restarted(before)
  t.match(dispatcher.runnerSeen('r1'), { presence: 'online', last_seen_at: session.started_at })
  fake.platform.advance(presenceMs + 100)
  t.match(dispatcher.runnerSeen('r1'), { presence: 'offline', last_seen_at: session.started_at })
})

t.test('a presence step that was refused is asked for again at the next call', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  fake.refusals.set('r1', { ok: false, refusal: { code: 'disk_reserve', detail: '' }, isPassing: true })
  dispatcher.touch('r1')
  fake.run()
  fake.refusals.clear()
  dispatcher.touch('r1')
  fake.run()
  t.same(fake.asked, ['came_online r1', 'came_online r1'])
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
})

t.test(
  'a runner that arrived while writes were refused is online soon after they resume if its poll still waits',
  async (t) => {
    const { fake, dispatcher } = world({ r1: {}, r2: {} })
    for (const id of ['r1', 'r2'])
      fake.refusals.set(id, { ok: false, refusal: { code: 'disk_reserve', detail: '' }, isPassing: true })
    const asked = poll(dispatcher, 'r1', presenceMs * 3)
    dispatcher.touch('r2')
    fake.platform.advance(presenceRetryMs + 100)
    t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
    fake.refusals.clear()
    fake.platform.advance(presenceRetryMs + 100)
    t.equal(dispatcher.runnerSeen('r1').presence, 'online')
    t.not(dispatcher.runnerSeen('r2').presence, 'online', 'a runner that no longer waits is not retried')
    t.equal(fake.asked.filter((step) => step === 'came_online r1').length, 3)
    fake.platform.advance(presenceMs * 2)
    t.equal(dispatcher.runnerSeen('r1').presence, 'online')
    asked.handle.abort()
    fake.platform.advance(presenceMs + 100)
    t.equal(dispatcher.runnerSeen('r1').presence, 'offline', 'presence expires as usual afterwards')
  },
)

t.test('an unaccepted offer counts only if its runner was sent it and has called since', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  const id = fake.create()
  fake.run()
  t.notOk(fake.offerCounted(id), 'not offered')
  poll(dispatcher, 'r1')
  t.notOk(fake.offerCounted(id), 'not sent')
  fake.run()
  t.notOk(fake.offerCounted(id), 'sent, and silent since')
  dispatcher.touch('r2')
  t.notOk(fake.offerCounted(id), 'the call of another runner')
  dispatcher.touch('r1')
  t.ok(fake.offerCounted(id))
  fake.report(id, 'accepted')
  fake.run()
  t.notOk(fake.offerCounted(id), 'accepted')
})

t.test('a runner shows the requests that use its slots', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 3 } })
  const ids = [fake.create(), fake.create(), fake.create()]
  fake.run()
  for (const id of ids) {
    poll(dispatcher, 'r1', 0)
    fake.run()
    fake.report(id, 'started')
    fake.run()
  }
  fake.send(ids[1]!, 'lease_expired', { attempt: 1 })
  fake.run()
  t.same(dispatcher.runnerSeen('r1').in_flight, [ids[0], ids[2]], 'a lost request uses none')
  const fourth = fake.create()
  fake.run()
  poll(dispatcher, 'r1', 0)
  fake.run()
  fake.report(ids[1]!, 'heartbeat')
  fake.run()
  t.equal(dispatcher.runnerSeen('r1').in_flight.length, 4, 'a request that came back may exceed the capacity')
  fake.report(fourth, 'completed')
  fake.create()
  fake.run()
  const asked = poll(dispatcher, 'r1')
  fake.run()
  t.equal(asked.answer, undefined, 'the runner then gets nothing more')
})

t.test('a removed runner leaves the fleet once it holds nothing, and is asked nothing more', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  const { fleet } = dispatcher as unknown as { fleet: Fleet }
  const known = () => [...fleet.all()].map(({ id }) => id)
  const id = startedBy({ fake, dispatcher }, 'r1')
  fake.runner('r1', { state: 'removed' })
  fake.run()
  t.same([known(), dispatcher.runnerSeen('r1').in_flight], [['r1', 'r2'], [id]])
  fake.report(id, 'completed')
  fake.run()
  t.same(known(), ['r2'])
  t.same(dispatcher.runnerSeen('r1'), { presence: 'never_seen', in_flight: [] }, 'presence is what its record says')
  t.equal(poll(dispatcher, 'r1').answer, 'runner_removed')
  fake.platform.advance(presenceMs + 100)
  t.notOk(fake.asked.includes('went_offline r1'))
  const next = fake.create()
  poll(dispatcher, 'r2')
  fake.run()
  t.same(dispatcher.runnerSeen('r2').in_flight, [next], 'the others go on')
})

t.test('the backlog tells per project how many requests wait and how old the oldest is', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  fake.create({ project: 'alpha' })
  fake.run()
  fake.platform.advance(5_000)
  fake.create({ project: 'beta' })
  fake.create({ project: 'alpha', throttle: 'full' })
  fake.run()
  fake.platform.advance(1_000)
  const { runners, parkedPolls } = dispatcher.counts()
  t.same(
    dispatcher.backlog().map(({ project, count, oldestAgeMs }) => [project, count, Math.round(oldestAgeMs / 1000)]),
    [
      ['alpha', 2, 6],
      ['beta', 1, 1],
    ],
  )
  t.same([runners, parkedPolls], [{ online: 0, registered: 1, limited: 0 }, 0])
})

t.test('online capacity counts only the slots of online runners that may take the work', async (t) => {
  const { fake, dispatcher } = world({
    trusted: { trusted: true, capacity: 2 },
    untrusted: { trusted: false, capacity: 5 },
    away: { trusted: true, capacity: 7 },
    nowhere: { trusted: true, capacity: 9, allowed_projects: [] },
  })
  for (const id of ['trusted', 'untrusted', 'nowhere']) dispatcher.touch(id)
  fake.run()
  t.equal(dispatcher.onlineCapacity(false), 2)
  t.equal(dispatcher.onlineCapacity(true), 7)
})

t.test('the census counts registered runners, and those of them that are online', async (t) => {
  const before = world({ r1: {}, r2: {}, r3: {} })
  startedBy(before, 'r1')
  startedBy(before, 'r2')
  t.same(before.dispatcher.counts().runners, { online: 2, registered: 3, limited: 0 })
  before.fake.runner('r1', { state: 'removed' })
  before.fake.run()
  t.same(before.dispatcher.counts().runners, { online: 1, registered: 2, limited: 0 })
  t.equal(restarted(before).dispatcher.counts().runners.registered, 2, 'its run is still there')
})
