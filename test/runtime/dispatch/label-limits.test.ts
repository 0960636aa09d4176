import t from 'tap'
import { offered, poll, type RunnerGiven } from './fake.ts'
import { restarted, type World, world } from './world.ts'

const gpu: RunnerGiven = { labels: ['gpu', 'ci'], capacity: 10 }

function limit({ dispatcher }: World, limits: Readonly<Record<string, number>>): void {
  dispatcher.setLabelLimits(new Map(Object.entries(limits)))
}

/** The runner polls without waiting; what it is offered it starts. */
function take(place: World, runner: string): string | undefined {
  const asked = poll(place.dispatcher, runner, 0)
  place.fake.run()
  const id = offered(asked)
  if (id !== undefined) place.fake.report(id, 'started')
  place.fake.run()
  return id
}

t.test('no more runs with a label are under way than its limit, whatever their projects and runners', async (t) => {
  const place = world({ r1: gpu, r2: gpu })
  const { fake } = place
  limit(place, { gpu: 2 })
  const ids = ['alpha', 'beta', 'gamma'].map((project) => fake.create({ project, labels: ['gpu'] }))
  fake.run()
  t.same(
    [take(place, 'r1'), take(place, 'r2'), take(place, 'r1'), take(place, 'r2')],
    [ids[0], ids[1], undefined, undefined],
  )
  fake.report(ids[0]!, 'completed')
  fake.run()
  t.same([take(place, 'r2'), take(place, 'r1')], [ids[2], undefined])
})

t.test('a request held back by its label keeps its place, and nothing behind it waits for it', async (t) => {
  const place = world({ r1: gpu })
  const { fake } = place
  limit(place, { gpu: 1 })
  const [first, second] = [fake.create({ labels: ['gpu'] }), fake.create({ labels: ['gpu'] })]
  const plain = fake.create({ priority: -5 })
  const urgent = fake.create({ labels: ['gpu', 'ci'], priority: 5 })
  fake.run()
  t.same([take(place, 'r1'), take(place, 'r1'), take(place, 'r1')], [urgent, plain, undefined])
  fake.report(urgent, 'completed')
  fake.run()
  t.equal(take(place, 'r1'), first)
  fake.report(first, 'completed')
  fake.run()
  t.equal(take(place, 'r1'), second)
})

t.test('of several limited labels each must have a place, and a named runner exempts from none', async (t) => {
  const place = world({ r1: gpu, plain: { capacity: 10 } })
  const { fake } = place
  limit(place, { gpu: 2, ci: 1 })
  const both = fake.create({ labels: ['ci', 'gpu'] })
  const again = fake.create({ labels: ['ci', 'gpu'] })
  const named = fake.create({ labels: ['ci'], runner_id: 'plain' })
  fake.run()
  t.same([take(place, 'r1'), take(place, 'r1'), take(place, 'plain')], [both, undefined, undefined])
  fake.report(both, 'completed')
  fake.run()
  t.equal(take(place, 'plain'), named)
  t.equal(take(place, 'r1'), undefined)
  fake.report(named, 'completed')
  fake.run()
  t.equal(take(place, 'r1'), again)
})

t.test('a lost run counts until somebody decides, as it holds its repository', async (t) => {
  const place = world({ r1: gpu })
  const { fake } = place
  limit(place, { gpu: 1 })
  const lost = fake.create({ labels: ['gpu'] })
  fake.create({ labels: ['gpu'] })
  fake.run()
  take(place, 'r1')
  fake.send(lost, 'lease_expired', { attempt: 1 })
  fake.run()
  t.equal(fake.state(lost), 'lost')
  t.equal(take(place, 'r1'), undefined)
  fake.send(lost, 'requeue')
  fake.run()
  t.equal(take(place, 'r1'), lost, 'it is the older one')
})

t.test('a lowered limit takes back offers that were not accepted, and nothing that was', async (t) => {
  const place = world({ r1: gpu, r2: gpu, r3: gpu })
  const { fake } = place
  const ids = [1, 2, 3].map(() => fake.create({ labels: ['gpu'] }))
  fake.run()
  const asked = ['r1', 'r2', 'r3'].map((runner) => poll(place.dispatcher, runner, 0))
  fake.run()
  t.same(asked.map(offered), ids)
  fake.report(ids[2]!, 'accepted')
  fake.run()
  limit(place, { gpu: 2 })
  fake.run()
  t.same(ids.map((id) => fake.state(id)).sort(), ['accepted', 'offered', 'queued'], 'just as many as are too many')
  limit(place, { gpu: 0 })
  fake.run()
  t.same(
    ids.map((id) => fake.state(id)),
    ['queued', 'queued', 'accepted'],
  )
  t.match(place.dispatcher.waitingBecause(ids[0]!), { code: 'label_limit', detail: 'The label gpu is limited to 0.' })
  fake.report(ids[2]!, 'started')
  fake.run()
  t.equal(fake.state(ids[2]!), 'started')
})

t.test('an offer on its way when the limit is lowered does not reach its runner', async (t) => {
  const place = world({ r1: gpu })
  const { fake } = place
  const asked = poll(place.dispatcher, 'r1')
  fake.run()
  const id = fake.create({ labels: ['gpu'] })
  fake.platform.runOnce()
  t.equal(fake.state(id), 'queued')
  t.match(place.dispatcher.waitingBecause(id), { detail: /Being handed to r1/ })
  limit(place, { gpu: 0 })
  fake.run()
  t.equal(asked.answers, 0)
  t.equal(fake.state(id), 'queued')
  limit(place, {})
  fake.run()
  t.equal(offered(asked), id)
})

t.test('a restart counts what is under way before it offers anything', async (t) => {
  const before = world({ r1: gpu })
  before.fake.create({ labels: ['gpu'] })
  before.fake.run()
  take(before, 'r1')
  before.fake.create({ labels: ['gpu'] })
  before.fake.run()
  const place = restarted(before)
  limit(place, { gpu: 1 })
  place.fake.run()
  t.equal(take(place, 'r1'), undefined)
  t.same([...place.dispatcher.labels.holdersOf('gpu')].length, 1)
})

t.test('thousands of held-back requests of one label cost a poll no more than one', async (t) => {
  const place = world({ r1: gpu })
  const { fake, dispatcher } = place
  limit(place, { gpu: 0 })
  const count = 2_000
  for (let n = 0; n < count; n++) fake.create({ labels: ['gpu'], priority: n % 7 })
  fake.run()
  const { fullOf } = dispatcher.labels
  let asked = 0
  dispatcher.labels.fullOf = (...of) => {
    asked++
    return fullOf.apply(dispatcher.labels, of)
  }
  t.equal(take(place, 'r1'), undefined)
  t.ok(asked > 0 && asked < 10, `${asked} looks`)
})

t.test(
  'a freed place costs looks for the free runners, not for the thousands of kinds of requests that wait for it',
  async (t) => {
    const place = world({ r1: gpu, r2: { labels: ['gpu'] }, r3: {} })
    const { fake, dispatcher } = place
    limit(place, { gpu: 1 })
    const first = fake.create({ labels: ['gpu'] })
    fake.run()
    t.equal(take(place, 'r1'), first)
    // Older than what anybody free may take, and each of another kind.
    for (let n = 0; n < 2_000; n++) fake.create({ project: `p${n}`, labels: ['gpu', 'ci'] })
    const taken = fake.create({ project: 'last', labels: ['gpu'] })
    const pinned = fake.create({ project: 'pinned', labels: ['gpu'], runner_id: 'r3' })
    fake.run()
    const [asked, named] = [poll(dispatcher, 'r2'), poll(dispatcher, 'r3')]
    fake.run()
    t.equal(asked.answers + named.answers, 0)
    let looks = 0
    const { fullOf } = dispatcher.labels
    dispatcher.labels.fullOf = (...of) => {
      looks++
      return fullOf.apply(dispatcher.labels, of)
    }
    fake.report(first, 'completed')
    fake.run()
    t.equal(offered(asked), taken, 'the first in order that a free runner may take')
    t.equal(named.answers, 0)
    t.ok(looks < 40, `${looks} looks`)
    fake.report(taken, 'accepted')
    fake.report(taken, 'started')
    fake.report(taken, 'completed')
    fake.run()
    t.equal(offered(named), pinned, 'and then the one that only that runner may take')
  },
)
