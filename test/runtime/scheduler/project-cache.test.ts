/** A place and a repository are taken only by items that a runner works on or can begin. */
import t from 'tap'
import { projectIdOf } from '../../../machines/ids.ts'
import { PACING } from '../../../machines/pacing.ts'
import { World } from './world.ts'

const archive = (w: World, key: string, type = 'archive') => w.ask('project', projectIdOf(key), { type })

function world(...settings: ConstructorParameters<typeof World>): World {
  const w = new World(...settings)
  w.project('a', 'git@x:one')
  w.project('b', 'git@x:one')
  w.project('c')
  w.project('d')
  return w
}

t.test('pausing a lane takes back its items that no runner has begun, and frees their places and repositories', (t) => {
  const w = world({ maxRunning: 1 })
  const first = w.submit('a', { lane: 'campaign' })
  const second = w.submit('b')
  t.ok(w.isHandedOut(first))
  w.pause('campaign')
  t.match(w.item(first), { value: 'queued', context: { reason: 'lane campaign is paused', run: undefined } })
  t.ok(w.isHandedOut(second), 'its repository and its place are free')
  w.resume('campaign')
  t.equal(w.scheduler.waitingBecause(first)?.code, 'repository_busy', 'and are taken when its lane resumes')
  w.end(second)
  t.ok(w.isHandedOut(first))
  t.equal(w.item(first).context.internal.hand_outs, 2)
  t.end()
})

t.test('so does archiving its project, and having no runner left that may take the item', (t) => {
  for (const [away, back] of [
    [(w: World) => archive(w, 'a'), (w: World) => archive(w, 'a', 'unarchive')],
    [
      (w: World) => {
        w.canTake = ({ project }) => project !== 'a'
        w.platform.advance(15_000)
      },
      (w: World) => {
        w.canTake = () => true
        w.platform.advance(15_000)
      },
    ],
  ] as const) {
    const w = world({ maxRunning: 1 })
    const first = w.submit('a')
    const second = w.submit('b')
    away(w)
    t.notOk(w.isHandedOut(first))
    t.ok(w.isHandedOut(second))
    back(w)
    t.notOk(w.isHandedOut(first))
    w.end(second)
    t.ok(w.isHandedOut(first))
  }
  t.end()
})

t.test('an item is not taken back while its run is offered, accepted or started', (t) => {
  for (const posts of [['offer'], ['offer', 'accepted'], ['offer', 'started']]) {
    const w = world({ maxRunning: 1 })
    const first = w.submit('a', { lane: 'campaign' })
    const { id } = w.item(first).context.run!
    for (const type of posts) w.ask('run_request', id, { type, runner_id: 'r1' })
    w.pause('campaign')
    t.equal(w.item(first).context.run?.id, id, posts.join())
    const second = w.submit('c')
    t.notOk(w.isHandedOut(second))
    if (posts.length > 1) continue
    w.ask('run_request', id, { type: 'offer_aborted', runner_id: 'r1', attempt: 1, why: 'lane_paused' })
    t.notOk(w.isHandedOut(first), 'it is taken back once its offer has been returned')
    t.ok(w.isHandedOut(second))
  }
  t.end()
})

t.test('a requeued run holds neither place nor repository while its lane is paused or its project archived', (t) => {
  for (const [away, back] of [
    [(w: World) => w.pause('campaign'), (w: World) => w.resume('campaign')],
    [(w: World) => archive(w, 'a'), (w: World) => archive(w, 'a', 'unarchive')],
  ] as const) {
    const w = world({ maxRunning: 1 })
    const first = w.submit('a', { lane: 'campaign' })
    w.start(first)
    w.requeue(first)
    const same = w.submit('b')
    const other = w.submit('c')
    t.equal(w.scheduler.waitingBecause(same)?.code, 'repository_busy', 'a runner may go on with it')
    t.match(w.scheduler.waitingBecause(first), { code: 'handed_out' })
    away(w)
    t.match(w.item(first), { value: 'running', context: { run: { attempt: 2 } } }, 'it keeps its run')
    t.ok(w.isHandedOut(same))
    t.equal(w.scheduler.waitingBecause(other)?.code, 'running_cap', 'the other item has the place')
    const later = w.restarted()
    t.equal(later.scheduler.waitingBecause(other)?.code, 'running_cap', 'also in the next scheduler')
    back(later)
    later.end(same)
    t.notOk(later.isHandedOut(other), 'it has its place again')
    later.start(first)
    t.equal(later.scheduler.waitingBecause(first), undefined)
    later.end(first)
    t.ok(later.isHandedOut(other))
  }
  t.end()
})

t.test('an item whose runner is not heard does not hold its repository, and does again once that runner calls', (t) => {
  for (const hasBegun of [false, true]) {
    const w = world()
    const pinned = w.submit('a', { runner_id: 'dead' })
    if (hasBegun) {
      w.start(pinned)
      w.requeue(pinned)
    }
    const same = w.submit('b')
    w.platform.advance(15_000)
    t.equal(w.scheduler.waitingBecause(same)?.code, 'repository_busy', 'the runner may be about to call')
    w.isExpected = ({ pin }) => pin !== 'dead'
    w.platform.advance(15_000)
    t.ok(w.isHandedOut(same))
    t.match(w.scheduler.waitingBecause(pinned), { code: 'handed_out' }, 'it keeps its run')
    w.isExpected = () => true
    w.end(same)
    const later = w.submit('b')
    t.equal(w.scheduler.waitingBecause(later)?.code, 'repository_busy')
  }
  t.end()
})

t.test('an unreadable pause state takes no item back', (t) => {
  const w = world()
  const first = w.submit('a')
  w.shown = (snapshot) => snapshot
  const { runtime } = w
  const read = runtime.read.bind(runtime)
  runtime.read = ((ref: any) => {
    if (ref.kind === PACING.kind) throw new TypeError('a mistake')
    return read(ref)
  }) as typeof runtime.read
  w.another()
  w.platform.advance(60_000)
  t.ok(w.isHandedOut(first))
  t.end()
})

t.test('without a configured cap, runs that are lost or on draining runners take no slot', (t) => {
  for (const gone of ['drained', 'lost']) {
    const w = world()
    w.capacity = 1
    const first = w.submit('a')
    w.start(first)
    const { id } = w.item(first).context.run!
    const second = w.submit('c')
    t.equal(w.scheduler.waitingBecause(second)?.code, 'running_cap')
    if (gone === 'drained') w.isThere = (run) => run !== id
    else w.ask('run_request', id, { type: 'lease_expired', runner_id: 'r1', attempt: 1 })
    w.platform.advance(15_000)
    t.ok(w.isHandedOut(second), gone)
  }
  t.end()
})

t.test('without a configured cap, items for busy runners do not keep items from runners with free slots', (t) => {
  const w = world()
  w.project('e')
  w.capacity = 2
  w.hasFree = ({ labels }) => labels.length === 0
  const gpu = { labels: ['gpu'] }
  const running = w.submit('a', gpu)
  w.start(running)
  const ahead = w.submit('c', gpu)
  t.ok(w.isHandedOut(ahead), 'as many as there are slots')
  const waits = w.submit('d', gpu)
  t.match(w.scheduler.waitingBecause(waits), { code: 'running_cap', detail: '2 of 2 are running' })
  const free = w.submit('d')
  t.ok(w.isHandedOut(free))
  const none = w.submit('e')
  t.equal(w.scheduler.waitingBecause(none)?.code, 'running_cap', 'the free slot is taken')
  t.end()
})

t.test('a configured cap counts everything handed out or running, on whatever runner', (t) => {
  const w = world({ maxRunning: 1 })
  w.isThere = () => false
  w.hasFree = () => true
  const first = w.submit('a')
  w.start(first)
  const second = w.submit('c')
  w.platform.advance(15_000)
  t.equal(w.scheduler.waitingBecause(second)?.code, 'running_cap')
  t.end()
})
