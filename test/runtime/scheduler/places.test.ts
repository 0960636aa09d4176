/** What takes a place, and a repository, is what somebody works on or can begin. */
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

t.test('a pause gives the places and the repositories of what nobody has begun to others', (t) => {
  const w = world({ maxRunning: 1 })
  const first = w.submit('a', { lane: 'campaign' })
  const second = w.submit('b')
  t.ok(w.isHandedOut(first))
  w.pause('campaign')
  t.match(w.item(first), { value: 'queued', context: { reason: 'lane campaign is paused', run: undefined } })
  t.ok(w.isHandedOut(second), 'its repository and its place are free')
  w.resume('campaign')
  t.equal(w.scheduler.waitingBecause(first)?.code, 'repository_busy', 'and are taken when it may go on')
  w.end(second)
  t.ok(w.isHandedOut(first))
  t.equal(w.item(first).context.internal.hand_outs, 2)
  t.end()
})

t.test('so does an archived project, and work that no runner that is there may take', (t) => {
  for (const [away, back] of [
    [(w: World) => archive(w, 'a'), (w: World) => archive(w, 'a', 'unarchive')],
    [
      (w: World) => {
        w.canTake = ({ project }) => project !== 'a'
        w.nature.advance(15_000)
      },
      (w: World) => {
        w.canTake = () => true
        w.nature.advance(15_000)
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

t.test('what a runner has been offered, has accepted or runs is not taken back', (t) => {
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
    t.notOk(w.isHandedOut(first), 'once the offer has come back, it is')
    t.ok(w.isHandedOut(second))
  }
  t.end()
})

t.test('what had begun and waits for a runner again keeps nothing from others while none can begin it', (t) => {
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
    t.match(w.item(first), { value: 'running', context: { run: { attempt: 2 } } }, 'it stays with its run')
    t.ok(w.isHandedOut(same))
    t.equal(w.scheduler.waitingBecause(other)?.code, 'running_cap', 'and one has the place')
    const later = w.restarted()
    t.equal(later.scheduler.waitingBecause(other)?.code, 'running_cap', 'also to the next scheduler')
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

t.test(
  'what waits for a runner that is not heard keeps its repository from nobody, and has it again when that calls',
  (t) => {
    for (const hasBegun of [false, true]) {
      const w = world()
      const pinned = w.submit('a', { runner_id: 'dead' })
      if (hasBegun) {
        w.start(pinned)
        w.requeue(pinned)
      }
      const same = w.submit('b')
      w.nature.advance(15_000)
      t.equal(w.scheduler.waitingBecause(same)?.code, 'repository_busy', 'it may be about to call')
      w.isExpected = ({ pin }) => pin !== 'dead'
      w.nature.advance(15_000)
      t.ok(w.isHandedOut(same))
      t.match(w.scheduler.waitingBecause(pinned), { code: 'handed_out' }, 'it stays with its run')
      w.isExpected = () => true
      w.end(same)
      const later = w.submit('b')
      t.equal(w.scheduler.waitingBecause(later)?.code, 'repository_busy')
    }
    t.end()
  },
)

t.test('a pause state that cannot be read takes nothing back', (t) => {
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
  w.nature.advance(60_000)
  t.ok(w.isHandedOut(first))
  t.end()
})

t.test('without a cap of its own: what runs where nothing new goes, or is lost, has none of the slots', (t) => {
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
    w.nature.advance(15_000)
    t.ok(w.isHandedOut(second), gone)
  }
  t.end()
})

t.test('nor does what waits for runners that are full keep work from those that are not', (t) => {
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

t.test('a cap of the service’s own counts all that is handed out or runs, wherever', (t) => {
  const w = world({ maxRunning: 1 })
  w.isThere = () => false
  w.hasFree = () => true
  const first = w.submit('a')
  w.start(first)
  const second = w.submit('c')
  w.nature.advance(15_000)
  t.equal(w.scheduler.waitingBecause(second)?.code, 'running_cap')
  t.end()
})
