import t from 'tap'
import { type Asked, offered, poll, type RequestGiven, type RunnerGiven } from './fake.ts'
import { startedBy, type World, world } from './world.ts'

const full: RequestGiven = { throttle: 'full', approved: true }

interface Reason {
  readonly name: string
  /** Sets up a world in which nothing can be handed out; returns the request that will be. */
  readonly before: (world: World) => string
  readonly wake: (world: World, id: string) => void
  readonly runners?: Record<string, RunnerGiven>
}

/** Has the runner `busy` hold a request in the given state. */
function hold({ fake, dispatcher }: World, given: RequestGiven, state: 'offered' | 'accepted' | 'started'): string {
  const id = fake.create(given)
  fake.run()
  poll(dispatcher, 'busy')
  fake.run()
  if (state !== 'offered') fake.report(id, state)
  fake.run()
  return id
}

/** Runners other than `busy`, in the order of their polls. */
const idle = ['r1', 'r2', 'r3', 'r4']
const crew = Object.fromEntries([...idle, 'busy'].map((id) => [id, {}]))
/** The same with a label. */
const gpus = Object.fromEntries(Object.keys(crew).map((id) => [id, { labels: ['gpu'] }]))

const reasons: readonly Reason[] = [
  { name: 'a new request', before: () => '', wake: ({ fake }) => void fake.create() },
  {
    name: 'an approval',
    before: ({ fake }) => fake.create({ throttle: 'full' }),
    wake: ({ fake }, id) => fake.send(id, 'approve'),
  },
  {
    name: 'not_before reached',
    before: ({ fake }) => fake.create({ not_before: '2026-06-01T00:00:00Z' }),
    wake: ({ fake }, id) => fake.send(id, 'not_before_reached'),
  },
  {
    name: 'a requeue by an operator',
    before: (world) => {
      const id = hold(world, {}, 'started')
      world.fake.send(id, 'lease_expired', { attempt: 1 })
      return id
    },
    wake: ({ fake }, id) => fake.send(id, 'requeue'),
  },
  {
    name: 'a release',
    before: (world) => hold(world, {}, 'accepted'),
    wake: ({ fake }, id) => fake.report(id, 'release'),
  },
  {
    name: 'an offer that expired',
    before: (world) => hold(world, {}, 'offered'),
    wake: ({ fake }, id) => fake.send(id, 'offer_expired', { attempt: 1, runner_id: 'busy', counted: true }),
  },
  {
    name: 'a lease that ended before the start',
    before: (world) => hold(world, {}, 'accepted'),
    wake: ({ fake }, id) => fake.send(id, 'lease_expired', { attempt: 1 }),
  },
  {
    name: 'a repository set free',
    before: (world) => {
      hold(world, full, 'started')
      return world.fake.create(full)
    },
    wake: ({ fake }) => fake.report('runreq_000000000000000000000001', 'completed'),
  },
  {
    name: 'one of several that change a repository gone',
    before: (world) => {
      world.fake.project('alpha', 2)
      world.fake.runner('busy', { capacity: 2 })
      hold(world, full, 'started')
      hold(world, full, 'started')
      return world.fake.create(full)
    },
    wake: ({ fake }) => fake.report('runreq_000000000000000000000001', 'completed'),
  },
  {
    name: 'a project that lets more change its repository at once',
    before: (world) => {
      hold(world, full, 'started')
      return world.fake.create(full)
    },
    wake: ({ fake }) => fake.project('alpha', 2),
  },
  {
    name: 'a lane resumed',
    before: ({ fake, dispatcher }) => {
      dispatcher.setPausedLanes(['interactive', 'campaign'])
      return fake.create()
    },
    wake: ({ dispatcher }) => dispatcher.setPausedLanes(['campaign']),
  },
  {
    name: 'a place freed under the limit of a label',
    before: (world) => {
      world.dispatcher.setLabelLimits(new Map([['gpu', 1]]))
      hold(world, { labels: ['gpu'] }, 'started')
      return world.fake.create({ project: 'beta', labels: ['gpu'] })
    },
    wake: ({ fake }) => fake.report('runreq_000000000000000000000001', 'completed'),
    runners: gpus,
  },
  {
    name: 'an offer with a limited label that its runner lets expire',
    before: (world) => {
      world.dispatcher.setLabelLimits(new Map([['gpu', 1]]))
      return hold(world, { labels: ['gpu'] }, 'offered')
    },
    wake: ({ fake }, id) => fake.send(id, 'offer_expired', { attempt: 1, runner_id: 'busy', counted: true }),
    runners: gpus,
  },
  {
    name: 'the limit of a label raised',
    before: (world) => {
      world.dispatcher.setLabelLimits(new Map([['gpu', 1]]))
      hold(world, { labels: ['gpu'] }, 'started')
      return world.fake.create({ labels: ['gpu'] })
    },
    wake: ({ dispatcher }) => dispatcher.setLabelLimits(new Map([['gpu', 2]])),
    runners: gpus,
  },
  {
    name: 'the limit of a label ended',
    before: ({ fake, dispatcher }) => {
      dispatcher.setLabelLimits(new Map([['gpu', 0]]))
      return fake.create({ labels: ['gpu'] })
    },
    wake: ({ dispatcher }) => dispatcher.setLabelLimits(new Map()),
    runners: gpus,
  },
]

for (const { name, before, wake, runners = crew } of reasons) {
  t.test(`${name} wakes only the poll that came last`, async (t) => {
    const place = world(runners)
    const id = before(place)
    place.fake.run()
    const polls = idle.map((runner) => poll(place.dispatcher, runner))
    place.fake.run()
    t.ok(
      polls.every((asked) => asked.answer === undefined),
      'nothing wakes them before',
    )
    wake(place, id)
    place.fake.run()
    const woken = polls.filter((asked) => asked.answers > 0)
    t.same(
      woken.map((asked) => asked.runner),
      ['r4'],
    )
    t.equal(offered(woken[0]!), id === '' ? 'runreq_000000000000000000000001' : id)
    t.equal(place.dispatcher.counts().parkedPolls, 3)
  })
}

t.test('a poll that does not wait counts as well in deciding which runner polled last', async (t) => {
  const { fake, dispatcher } = world({ r1: {}, r2: {}, r3: {} })
  const polls = ['r1', 'r2', 'r3'].map((runner) => poll(dispatcher, runner))
  fake.run()
  poll(dispatcher, 'r1', 0)
  const id = fake.create()
  fake.run()
  t.same(polls.map(offered), [id, undefined, undefined])
})

t.test('a freed slot wakes a poll of that runner and no other', async (t) => {
  const { fake, dispatcher } = world({ r1: { labels: ['a'] }, r2: { labels: ['b'] } })
  const first = fake.create({ labels: ['a'] })
  const second = fake.create({ labels: ['a'] })
  fake.run()
  poll(dispatcher, 'r1')
  fake.run()
  fake.report(first, 'started')
  fake.run()
  const parked = poll(dispatcher, 'r1')
  const other = poll(dispatcher, 'r2')
  fake.run()
  t.equal(parked.answer, undefined)
  fake.report(first, 'completed')
  fake.run()
  t.equal(offered(parked), second)
  t.equal(other.answer, undefined)
})

t.test('once an offer is accepted, a runner with free slots gets the next one on another parked poll', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const ids = [fake.create(), fake.create(), fake.create()]
  const polls = [poll(dispatcher, 'r1'), poll(dispatcher, 'r1'), poll(dispatcher, 'r1')]
  fake.run()
  t.same(polls.map(offered), [undefined, undefined, ids[0]], 'at most one unaccepted offer')
  fake.report(ids[0]!, 'accepted')
  fake.run()
  t.same(polls.map(offered), [undefined, ids[1], ids[0]])
  fake.report(ids[1]!, 'accepted')
  fake.run()
  t.equal(polls[0]!.answer, undefined, 'capacity is used up')
})

const changes: readonly [string, RunnerGiven, RunnerGiven, RequestGiven][] = [
  ['labels', { labels: [] }, { labels: ['gpu'] }, { labels: ['gpu'] }],
  ['grants', { allowed_projects: ['beta'] }, { allowed_projects: ['alpha', 'beta'] }, {}],
  ['trust', { trusted: false }, { trusted: true }, full],
  ['draining', { state: 'draining' }, { state: 'registered' }, {}],
  ['capacity', { capacity: 0 }, { capacity: 1 }, {}],
]
for (const [what, before, after, request] of changes) {
  t.test(`a change of ${what} wakes a poll of the runner`, async (t) => {
    const { fake, dispatcher } = world({ r1: before })
    if (before.state === 'draining') poll(dispatcher, 'r1')
    const id = fake.create(request)
    fake.run()
    const asked = poll(dispatcher, 'r1')
    fake.run()
    t.equal(asked.answer, undefined)
    fake.runner('r1', after)
    fake.run()
    t.equal(offered(asked), id)
  })
}

t.test('twenty new requests wake exactly twenty parked polls', async (t) => {
  const { fake, dispatcher } = world(Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`r${n}`, {}])))
  const polls = Array.from({ length: 50 }, (_, n) => poll(dispatcher, `r${n}`))
  for (let n = 0; n < 20; n++) fake.create()
  fake.run()
  t.equal(polls.filter((asked) => asked.answers > 0).length, 20)
  t.same(
    polls.slice(30).filter((asked) => offered(asked) === undefined),
    [],
    'those that polled last',
  )
  t.equal(new Set(polls.map(offered).filter(Boolean)).size, 20)
  t.equal(dispatcher.counts().wakeups, 20)
})

t.test('draining ends one parked poll of the runner, once, and later polls are parked', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const polls = [poll(dispatcher, 'r1'), poll(dispatcher, 'r1')]
  fake.runner('r1', { capacity: 2, state: 'draining' })
  fake.run()
  t.same(
    polls.map((asked) => asked.answer),
    [undefined, { draining: true, cancel: [] }],
  )
  const later = poll(dispatcher, 'r1')
  t.equal(later.answer, undefined, 'the runner has been told')
  t.same(poll(dispatcher, 'r1', 0).answer, { draining: true, cancel: [] }, 'every answer says so')
  fake.runner('r1', { capacity: 2 })
  fake.run()
  t.equal(later.answer, undefined, 'the end of draining wakes nobody')
})

t.test('draining that found no parked poll ends the next poll at once', async (t) => {
  const { fake, dispatcher } = world({ r1: { state: 'draining' } })
  t.same(poll(dispatcher, 'r1').answer, { draining: true, cancel: [] })
  t.equal(poll(dispatcher, 'r1').answer, undefined)
  fake.run()
})

t.test('a new session of a draining runner is told once more', async (t) => {
  const { fake, dispatcher } = world({ r1: { state: 'draining' } })
  poll(dispatcher, 'r1')
  const old = poll(dispatcher, 'r1')
  dispatcher.beginSession('r1')
  t.same(old.answer, { draining: true, cancel: [] })
  t.same(poll(dispatcher, 'r1').answer, { draining: true, cancel: [] })
  t.equal(poll(dispatcher, 'r1').answer, undefined, 'once')
  fake.run()
})

t.test('a cancel ends one parked poll of its runner, and so does the next cancel', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 3 }, r2: {} })
  const ids = [fake.create(), fake.create()]
  fake.run()
  for (const id of ids) {
    poll(dispatcher, 'r1')
    fake.run()
    fake.report(id, 'started')
    fake.run()
  }
  const ended: Asked[] = []
  for (const id of ids) {
    const parked = poll(dispatcher, 'r1')
    const other = poll(dispatcher, 'r2')
    fake.send(id, 'cancel')
    fake.run()
    t.equal(other.answer, undefined)
    other.handle.abort()
    ended.push(parked)
  }
  t.same(
    ended.map((asked) => asked.answer),
    [
      { draining: false, cancel: [ids[0]] },
      { draining: false, cancel: ids },
    ],
  )
  const later = poll(dispatcher, 'r1')
  fake.report(ids[0]!, 'failed', { class: 'cancelled' })
  fake.run()
  t.equal(later.answer, undefined)
  t.same(
    poll(dispatcher, 'r1', 0).answer,
    { draining: false, cancel: [ids[1]] },
    'a stopped request is no longer named',
  )
})

t.test('an answer names at most a hundred requests to stop, and each is named by one of the next polls', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 250 } })
  const ids = Array.from({ length: 250 }, () => startedBy({ fake, dispatcher }, 'r1'))
  for (const id of ids) fake.send(id, 'cancel')
  fake.run()
  const answers = Array.from({ length: 3 }, () => poll(dispatcher, 'r1').answer as { cancel: readonly string[] })
  t.same(
    answers.map(({ cancel }) => cancel.length),
    [100, 100, 100],
  )
  t.same(new Set(answers.flatMap(({ cancel }) => cancel)), new Set(ids))
  t.equal(poll(dispatcher, 'r1').answer, undefined, 'all were named, so the next poll waits')
  for (const id of ids.slice(1)) fake.report(id, 'failed', { class: 'cancelled' })
  fake.run()
  t.same(poll(dispatcher, 'r1', 0).answer, { draining: false, cancel: [ids[0]] })
})

t.test('an offer carries the cancel list too, so one poll serves both', async (t) => {
  const { fake, dispatcher } = world({ r1: { capacity: 2 } })
  const first = startedBy({ fake, dispatcher }, 'r1')
  const second = fake.create()
  fake.run()
  const asked = poll(dispatcher, 'r1')
  fake.send(first, 'cancel')
  fake.run()
  t.match(asked.answer, { cancel: [first], offer: { request_id: second } })
})
