import t from 'tap'
import type { Fleet } from '../../../runtime/dispatch/fleet.ts'
import { presenceRetryMs } from '../../../runtime/limits.ts'
import { poll } from './fake.ts'
import { restarted, startedBy, world } from './world.ts'

const presenceMs = 180_000

t.test('a first call brings a runner online, and silence takes it offline, each said once', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  t.same(dispatcher.runnerSeen('r1'), { presence: 'never_seen', in_flight: [] })
  dispatcher.touch('r1')
  dispatcher.touch('r1')
  fake.run()
  t.match(dispatcher.runnerSeen('r1'), { presence: 'online', last_seen_at: '2026-01-01T00:00:01.000Z' })
  fake.nature.advance(presenceMs - 1)
  dispatcher.touch('r1')
  fake.nature.advance(presenceMs - 1)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online', 'a call begins the time anew')
  fake.nature.advance(100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
  t.same(fake.asked, ['came_online r1', 'went_offline r1'])
  dispatcher.touch('r1')
  fake.run()
  t.equal(fake.asked.at(-1), 'came_online r1')
})

t.test('nobody is silent whom the service could not hear', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  dispatcher.touch('r1')
  fake.run()
  // The process is stopped, or a flush hangs; what was sent meanwhile is read only later.
  fake.nature.nowMs += presenceMs + 10_000
  fake.nature.advance(presenceMs - 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  fake.nature.advance(200)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
})

t.test('a service that stands still again and again does not keep a runner online that is gone', async (t) => {
  const { fake, dispatcher } = world({ gone: {}, there: {} })
  for (const id of ['gone', 'there']) dispatcher.touch(id)
  fake.run()
  const standStill = () => {
    fake.nature.nowMs += presenceMs + 10_000
    fake.nature.advance(100)
    return ['gone', 'there'].map((id) => dispatcher.runnerSeen(id).presence)
  }
  t.same(standStill(), ['online', 'online'])
  dispatcher.touch('there')
  t.same(standStill(), ['offline', 'online'])
  dispatcher.touch('gone')
  t.same(standStill(), ['online', 'offline'])
})

t.test('who has fallen silent is not counted on, long before it is offline', async (t) => {
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
  fake.nature.advance(90_000)
  t.same(stands(), [true, true, true], 'its poll is here')
  asked.handle.abort()
  fake.nature.advance(4_000)
  t.same(stands(), [true, true, true], 'its connection broke off a moment ago')
  const id = fake.create({ runner_id: 'r1' })
  fake.run()
  t.match(dispatcher.waitingBecause(id)?.detail, /^Goes to the next poll of r1 when/)
  fake.nature.advance(2_000)
  t.same(stands(), [false, false, true])
  t.match(dispatcher.waitingBecause(id)?.detail, /^Goes to the next poll of r1: none waits here now, and nothing is/)
  dispatcher.touch('r1')
  fake.nature.advance(59_000)
  t.same(stands(), [true, true, true], 'who calls now and then calls once a minute')
  fake.nature.advance(2_000)
  t.same(stands(), [false, false, true])
})

t.test('a parked poll is a call that has not ended', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const asked = poll(dispatcher, 'r1', presenceMs * 3)
  fake.nature.advance(presenceMs * 2)
  t.equal(asked.answer, undefined)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  asked.handle.abort()
  fake.nature.advance(presenceMs + 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
})

t.test('a restart gives a runner that was online the full time again', async (t) => {
  const before = world({ r1: { online: true } })
  const { fake, dispatcher } = restarted(before)
  fake.nature.advance(presenceMs - 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  t.same(fake.asked, [])
  fake.nature.advance(200)
  t.same(fake.asked, ['went_offline r1'])
})

t.test('a restart does not forget that a runner was there', async (t) => {
  const before = world({ r1: {} })
  before.dispatcher.touch('r1')
  before.fake.nature.advance(presenceMs + 100)
  const seen = before.dispatcher.runnerSeen('r1')
  t.match(seen, { presence: 'offline', last_seen_at: '2026-01-01T00:00:01.000Z' })
  t.same(restarted(before).dispatcher.runnerSeen('r1'), seen)
})

t.test('a step of presence that was not taken is said again', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  fake.refusals.set('r1', { ok: false, refusal: { code: 'disk_reserve', detail: '' }, retryAfterSeconds: 1 })
  dispatcher.touch('r1')
  fake.run()
  fake.refusals.clear()
  dispatcher.touch('r1')
  fake.run()
  t.same(fake.asked, ['came_online r1', 'came_online r1'])
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
})

t.test('who came while nothing could be written, and waits in its poll, is there once something can', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  for (const id of ['r1', 'r2'])
    fake.refusals.set(id, { ok: false, refusal: { code: 'disk_reserve', detail: '' }, retryAfterSeconds: 1 })
  const asked = poll(dispatcher, 'r1', presenceMs * 3)
  dispatcher.touch('r2')
  fake.nature.advance(presenceRetryMs + 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline')
  fake.refusals.clear()
  fake.nature.advance(presenceRetryMs + 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  t.not(dispatcher.runnerSeen('r2').presence, 'online', 'who does not wait is asked no more')
  t.equal(fake.asked.filter((step) => step === 'came_online r1').length, 3)
  fake.nature.advance(presenceMs * 2)
  t.equal(dispatcher.runnerSeen('r1').presence, 'online')
  asked.handle.abort()
  fake.nature.advance(presenceMs + 100)
  t.equal(dispatcher.runnerSeen('r1').presence, 'offline', 'looked after as ever')
})

t.test('an unaccepted offer counts only if its runner was told and has called since', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  const id = fake.create()
  fake.run()
  t.notOk(fake.offerCounted(id), 'not offered')
  poll(dispatcher, 'r1')
  t.notOk(fake.offerCounted(id), 'not told')
  fake.run()
  t.notOk(fake.offerCounted(id), 'told, and silent since')
  dispatcher.touch('r2')
  t.notOk(fake.offerCounted(id), 'the call of another')
  dispatcher.touch('r1')
  t.ok(fake.offerCounted(id))
  fake.report(id, 'accepted')
  fake.run()
  t.notOk(fake.offerCounted(id), 'accepted')
})

t.test('a runner shows what uses its slots', async (t) => {
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
  t.same(dispatcher.runnerSeen('r1').in_flight, [ids[0], ids[2]], 'a lost one uses none')
  const fourth = fake.create()
  fake.run()
  poll(dispatcher, 'r1', 0)
  fake.run()
  fake.report(ids[1]!, 'heartbeat')
  fake.run()
  t.equal(dispatcher.runnerSeen('r1').in_flight.length, 4, 'one that came back may exceed the capacity')
  fake.report(fourth, 'completed')
  fake.create()
  fake.run()
  const asked = poll(dispatcher, 'r1')
  fake.run()
  t.equal(asked.answer, undefined, 'and then the runner gets nothing more')
})

t.test('a removed runner is walked over no more once it holds nothing, and nothing is asked of it', async (t) => {
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
  t.same(dispatcher.runnerSeen('r1'), { presence: 'never_seen', in_flight: [] }, 'as its record says')
  t.equal(poll(dispatcher, 'r1').answer, 'runner_removed')
  fake.nature.advance(presenceMs + 100)
  t.notOk(fake.asked.includes('went_offline r1'))
  const next = fake.create()
  poll(dispatcher, 'r2')
  fake.run()
  t.same(dispatcher.runnerSeen('r2').in_flight, [next], 'and the others go on')
})

t.test('counts tell what waits, by project, and how long', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  fake.create({ project: 'alpha' })
  fake.run()
  fake.nature.advance(5_000)
  fake.create({ project: 'beta' })
  fake.create({ project: 'alpha', throttle: 'full' })
  fake.run()
  fake.nature.advance(1_000)
  const { runners, parkedPolls } = dispatcher.counts()
  t.same(
    dispatcher.backlog().map(({ project, count, oldestAgeMs }) => [project, count, Math.round(oldestAgeMs / 1000)]),
    [
      ['alpha', 2, 6],
      ['beta', 1, 1],
    ],
  )
  t.same([runners, parkedPolls], [{ online: 0, registered: 1 }, 0])
})

t.test('of who is there, the slots count that the work may have', async (t) => {
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
