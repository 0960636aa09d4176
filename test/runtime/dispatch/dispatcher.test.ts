import t from 'tap'
import { executionRequestDocument } from '../../../machines/documents/execution-request.ts'
import { compile } from '../../../machines/schema.ts'
import { wheelTickMs } from '../../../runtime/dispatch/wheel.ts'
import { refusedPauseMs } from '../../../runtime/limits.ts'
import { offered, poll, type RunnerGiven } from './fake.ts'
import { restarted, startedBy, world } from './world.ts'

const EMPTY = { draining: false, cancel: [] }

t.test('an empty poll that does not wait is answered within the call', async (t) => {
  const { dispatcher } = world({ r1: {} })
  const asked = poll(dispatcher, 'r1', 0)
  t.same(asked.answer, EMPTY)
  t.equal(poll(dispatcher, 'r1', 0).answer, asked.answer, 'the same object each time')
})

t.test('a poll is given its offer only after the commit, as a valid Execution Request', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create({ priority: 3 })
  fake.run()
  const asked = poll(dispatcher, 'r1', 0)
  t.equal(asked.answer, undefined, 'no answer before the commit')
  fake.run()
  t.equal(fake.state(id), 'offered')
  const { offer } = asked.answer as { offer: object }
  t.same(compile(executionRequestDocument)(offer), [])
  t.match(offer, {
    request_id: id,
    attempt: 1,
    project: { key: 'alpha' },
    trace: { traceparent: /^00-a{32}-b{16}-01$/ },
  })
  t.equal(asked.answers, 1)
})

t.test('a parked poll ends empty when its time is up, and at most 50 ms later', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const asked = poll(dispatcher, 'r1', 5_000)
  fake.platform.advance(4_999)
  t.equal(asked.answer, undefined)
  fake.platform.advance(51)
  t.same(asked.answer, EMPTY)
  t.equal(dispatcher.counts().parkedPolls, 0)
})

t.test('a repeated poll is given the same unaccepted offer with the same attempt', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 3 } })
  const id = fake.create()
  fake.create()
  fake.run()
  const first = poll(dispatcher, 'r1')
  fake.run()
  const again = poll(dispatcher, 'r1')
  t.equal(offered(again), id)
  t.same(again.answer, first.answer)
  t.equal(fake.asked.filter((what) => what.startsWith('offer ')).length, 1, 'no second offer was made')
})

t.test('a request that leaveOut withholds is not offered for one second, and is offered after that', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  dispatcher.leaveOut(id)
  const asked = poll(dispatcher, 'r1', 5_000)
  fake.run()
  t.equal(fake.state(id), 'queued')
  t.equal(asked.answer, undefined)
  fake.platform.advance(1_050)
  t.equal(offered(asked), id, 'it was not withdrawn')
})

t.test('an offer that its runner is just accepting is not sent again', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 3 } })
  const id = fake.create()
  fake.run()
  const first = poll(dispatcher, 'r1')
  fake.run()
  t.equal(offered(first), id)
  fake.tell({ kind: 'run_request', id }, { type: 'accepted', runner_id: 'r1', attempt: 1 })
  const beside = poll(dispatcher, 'r1', 0)
  t.same(beside.answer, EMPTY, 'the acceptance is heard before the poll')
  fake.run()
  t.equal(fake.state(id), 'accepted')
})

t.test('of requests for different work that come in one turn, a parked poll gets the first in order', async (t) => {
  const other = { entry_event: 'greet_requested' }
  for (const [given, first] of [
    [[{ priority: 1 }, other], 0],
    [[{}, { ...other, priority: 1 }], 1],
    [[{}, other], 0],
    [[{}, { ...other, project: 'beta' }, { ...other, priority: 9 }], 2],
    [[other, { project: 'beta', priority: 9 }], 0],
  ] as const) {
    const { fake, dispatcher } = world({ r1: {} })
    const asked = poll(dispatcher, 'r1')
    const ids = given.map((one) => fake.create(one))
    fake.run()
    t.equal(offered(asked), ids[first])
  }
})

t.test('of several parked polls, the newest gets the offer', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const polls = [poll(dispatcher, 'r1'), poll(dispatcher, 'r1'), poll(dispatcher, 'r1')]
  fake.create()
  fake.run()
  t.same(
    polls.map((one) => one.answers),
    [0, 0, 1],
  )
})

t.test('more than capacity + 1 parked polls of one runner are refused', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const polls = [1, 2, 3, 4].map(() => poll(dispatcher, 'r1'))
  t.equal(polls[3]!.answer, 'too_many_polls')
  t.same(
    polls.slice(0, 3).map((one) => one.answer),
    [undefined, undefined, undefined],
  )
  polls[0]!.handle.abort()
  t.equal(poll(dispatcher, 'r1').answer, undefined, 'an aborted poll makes room')
  t.same(poll(dispatcher, 'r1', 0).answer, EMPTY, 'a poll that does not wait is never one too many')
  fake.run()
})

t.test('polls of an unknown or removed runner, or while the service closes, end with that reason', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  t.equal(poll(dispatcher, 'nobody').answer, 'runner_removed')
  const parked = poll(dispatcher, 'r1')
  fake.runner('r1', { state: 'removed' })
  fake.run()
  t.equal(parked.answer, 'runner_removed')
  const other = poll(dispatcher, 'r2')
  dispatcher.close()
  t.equal(other.answer, 'closing')
  t.equal(poll(dispatcher, 'r2').answer, 'closing')
  t.equal(fake.platform.timersSet, 0, 'no timer is left')
})

t.test('a poll aborted before anything was offered leaves the request queued', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const asked = poll(dispatcher, 'r1')
  asked.handle.abort()
  asked.handle.abort()
  const id = fake.create()
  fake.run()
  t.equal(fake.state(id), 'queued')
  t.equal(asked.answers, 0)
})

t.test('a poll aborted during the commit of its offer returns the request at once, uncounted', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  const asked = poll(dispatcher, 'r1')
  asked.handle.abort()
  fake.run()
  t.equal(asked.answers, 0)
  t.equal(fake.state(id), 'queued')
  t.match(fake.request(id).context, { attempt: 2, internal: { unaccepted_offers: 0 } })
  t.equal(dispatcher.counts().offersReturned, 1)
  const next = poll(dispatcher, 'r1')
  fake.run()
  t.match(next.answer, { offer: { request_id: id, attempt: 2 } })
})

t.test('an offer whose poll is gone goes to a newer poll of the same runner', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  const first = poll(dispatcher, 'r1')
  first.handle.abort()
  const second = poll(dispatcher, 'r1')
  fake.run()
  t.equal(offered(second), id)
  t.equal(fake.request(id).context.attempt, 1)
})

t.test('a poll that comes during the commit waits for it, even with a wait of 0', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  const older = poll(dispatcher, 'r1', 0)
  const newer = poll(dispatcher, 'r1', 0)
  t.same([older.answer, newer.answer], [undefined, undefined])
  fake.run()
  t.equal(offered(newer), id)
  t.same(older.answer, EMPTY)
})

t.test('a poll that comes while an offer is being returned is parked and gets the next attempt', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  poll(dispatcher, 'r1').handle.abort()
  fake.platform.runOnce()
  t.equal(fake.state(id), 'offered', 'the return is under way')
  const next = poll(dispatcher, 'r1')
  t.equal(next.answer, undefined)
  fake.run()
  t.match(next.answer, { offer: { attempt: 2 } })
})

t.test(
  'an offer whose runner may no longer have it is returned uncounted, and goes to a runner that may',
  async (t) => {
    const now = { trusted: true, labels: ['gpu'], allowed_projects: ['greeter'] }
    const changes: Record<string, RunnerGiven> = {
      trust: { ...now, trusted: false },
      labels: { ...now, labels: [] },
      project: { ...now, allowed_projects: ['other'] },
      draining: { ...now, state: 'draining' },
      removed: { ...now, state: 'removed' },
    }
    const asked = { throttle: 'full', approved: true, labels: ['gpu'], project: 'greeter' } as const
    for (const [name, given] of Object.entries(changes)) {
      for (const isDelivered of [true, false]) {
        const { fake, dispatcher } = world({ r1: now, r2: now })
        const id = fake.create(asked)
        fake.run()
        const first = poll(dispatcher, 'r1')
        if (isDelivered) fake.run()
        fake.runner('r1', given)
        fake.run()
        const what = `${name}, ${isDelivered ? 'delivered' : 'on its way'}`
        t.equal(fake.state(id), 'queued', what)
        t.match(fake.request(id).context, { attempt: 2, internal: { unaccepted_offers: 0 } }, what)
        if (!isDelivered) t.notOk((first.answer as any)?.offer, `${what}: the runner is not told of it`)
        fake.report(id, 'accepted', { runner_id: 'r1', attempt: 1 })
        fake.run()
        t.equal(fake.state(id), 'queued', `${what}: accepting it comes too late`)
        const next = poll(dispatcher, 'r2')
        fake.run()
        t.equal(offered(next), id, what)
      }
    }
  },
)

t.test('an offer stands while its runner changes only in capacity, in added labels or by gaining trust', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const id = fake.create()
  fake.run()
  const first = poll(dispatcher, 'r1')
  fake.run()
  fake.runner('r1', { capacity: 1, labels: ['new'], trusted: true })
  fake.run()
  t.equal(fake.state(id), 'offered')
  t.equal(offered(poll(dispatcher, 'r1')), offered(first))
})

t.test('an offer whose return was lost when the service stopped is returned after the restart', async (t) => {
  const before = world({ r1: {} })
  const id = before.fake.create()
  before.fake.run()
  poll(before.dispatcher, 'r1')
  before.fake.run()
  before.dispatcher.close()
  before.fake.runner('r1', { state: 'draining' })
  before.fake.platform.runOnce()
  t.equal(before.fake.state(id), 'offered')
  const { fake, dispatcher } = restarted(before)
  dispatcher.setPausedLanes([])
  fake.run()
  t.equal(fake.state(id), 'queued')
})

t.test('after a restart, an offer that its runner may no longer have is taken back instead of repeated', async (t) => {
  const before = world({ r1: { labels: ['gpu'] } })
  const id = before.fake.create({ labels: ['gpu'] })
  before.fake.run()
  poll(before.dispatcher, 'r1')
  before.fake.run()
  before.dispatcher.close()
  before.fake.runner('r1', { labels: [], online: true })
  before.fake.platform.runOnce()
  const { fake, dispatcher } = restarted(before)
  const asked = poll(dispatcher, 'r1')
  fake.run()
  t.equal(asked.answer, undefined)
  t.equal(fake.state(id), 'queued')
})

t.test('an offer is taken back once, however often its runner changes meanwhile', async (t) => {
  const { fake, dispatcher } = world({ r1: { labels: ['gpu'] } })
  const id = fake.create({ labels: ['gpu'] })
  fake.run()
  poll(dispatcher, 'r1')
  fake.run()
  for (const labels of [['a'], ['b'], ['c']]) fake.runner('r1', { labels })
  fake.run()
  t.equal(fake.state(id), 'queued')
  t.equal(dispatcher.counts().offersReturned, 1)
})

t.test('an abort after the answer has no effect', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  const asked = poll(dispatcher, 'r1')
  fake.run()
  asked.handle.abort()
  fake.run()
  t.equal(fake.state(id), 'offered')
})

t.test('a poll whose time runs out while its offer is being committed still gets the offer', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const asked = poll(dispatcher, 'r1', 1_000)
  const id = fake.create()
  fake.platform.runOnce()
  fake.platform.nowMs += 2_000
  fake.platform.advance(0)
  t.equal(offered(asked), id)
})

t.test('a request cancelled in the turn of its offer leaves the runner to the next request', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const first = fake.create()
  const second = fake.create()
  fake.run()
  fake.send(first, 'cancel')
  const asked = poll(dispatcher, 'r1')
  fake.run()
  t.equal(fake.state(first), 'cancelled')
  t.equal(offered(asked), second)
})

t.test('an offer that is cancelled in its own batch is not delivered', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  const asked = poll(dispatcher, 'r1', 0)
  fake.send(id, 'cancel')
  fake.run()
  t.equal(fake.state(id), 'cancelled')
  t.same(asked.answer, EMPTY)
})

t.test('a request whose actor refuses the offer does not block the others, and is tried again later', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const broken = fake.create()
  const sound = fake.create()
  fake.run()
  fake.refusals.set(broken, { ok: false, refusal: { code: 'quarantined', detail: '' }, isPassing: true })
  const first = poll(dispatcher, 'r1')
  fake.run()
  t.equal(offered(first), sound)
  fake.report(sound, 'accepted')
  fake.run()
  const second = poll(dispatcher, 'r1')
  fake.refusals.delete(broken)
  fake.platform.advance(1_100)
  t.equal(offered(second), broken)
  t.equal(dispatcher.counts().offersRefused, 1)
})

t.test('nothing is offered while the service refuses writes, and offers resume by themselves afterwards', async (t) => {
  const { fake, dispatcher } = world({ r1: {} })
  const id = fake.create()
  fake.run()
  fake.refusing = 'disk_reserve'
  const asked = poll(dispatcher, 'r1')
  t.same(poll(dispatcher, 'r1', 0).answer, EMPTY)
  fake.platform.advance(2_000)
  t.notOk(fake.asked.includes(`offer ${id}`))
  fake.refusing = undefined
  fake.platform.advance(300)
  t.equal(offered(asked), id)
})

t.test('an offer refused for lack of room pauses all offers for a moment', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {} })
  const [refused, other] = [fake.create(), fake.create()]
  fake.run()
  fake.refusals.set(refused, { ok: false, refusal: { code: 'overloaded', detail: '' }, isPassing: true })
  const first = poll(dispatcher, 'r1')
  fake.run()
  const second = poll(dispatcher, 'r2')
  const more = fake.create()
  fake.run()
  fake.platform.advance(refusedPauseMs - 1)
  t.same(
    fake.asked.filter((what) => what.startsWith('offer ')),
    [`offer ${refused}`],
  )
  fake.platform.advance(wheelTickMs + 1)
  t.same(new Set([offered(first), offered(second)]), new Set([other, more]))
})

t.test('a repeated poll after a restart gets the offer made before it', async (t) => {
  const before = world({ r1: {} })
  const id = before.fake.create()
  before.fake.create()
  before.fake.run()
  poll(before.dispatcher, 'r1')
  before.fake.run()
  const { dispatcher } = restarted(before)
  t.equal(offered(poll(dispatcher, 'r1', 0)), id)
})

t.test('a restart keeps slots and repositories as occupied as before', async (t) => {
  const full = { throttle: 'full', approved: true } as const
  const before = world({ r1: {}, r2: {} })
  const held = before.fake.create(full)
  const waits = before.fake.create(full)
  before.fake.run()
  poll(before.dispatcher, 'r1')
  before.fake.run()
  before.fake.report(held, 'started')
  before.fake.run()
  const { fake, dispatcher } = restarted(before)
  const mine = poll(dispatcher, 'r1')
  const other = poll(dispatcher, 'r2')
  fake.run()
  t.same([mine.answer, other.answer], [undefined, undefined])
  fake.report(held, 'completed')
  fake.run()
  t.equal(offered(other), waits, 'the runner that polled last takes it')
})

t.test('a new session ends the previous polls of its runner and names the requests that it holds', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const id = startedBy({ fake, dispatcher }, 'r1')
  const parked = poll(dispatcher, 'r1')
  t.same(dispatcher.beginSession('r1'), [{ id, attempt: 1 }])
  t.same(parked.answer, EMPTY)
})

t.test('a poll made from within an answer is served in the next turn', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 1_000 } })
  const got: string[] = []
  const ids = Array.from({ length: 5 }, () => fake.create())
  const next = (): void => {
    dispatcher.poll('r1', 60_000, (answer) => {
      const { offer } = answer as { offer?: { request_id: string } }
      if (offer === undefined) return
      got.push(offer.request_id)
      fake.send(offer.request_id, 'accepted', { runner_id: 'r1' })
      fake.platform.nextTurn(next)
    })
  }
  next()
  fake.run()
  t.same(got, ids)
})
