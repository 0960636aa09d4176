/** Of items that require a limited label, no more are handed out than may be under way. */
import t from 'tap'
import { World } from './world.ts'

const GPU = { labels: ['gpu'] }

function world(...settings: ConstructorParameters<typeof World>): World {
  const w = new World(...settings)
  for (const key of ['a', 'b', 'c', 'd']) w.project(key)
  return w
}

const why = (w: World, id: string) => w.scheduler.waitingBecause(id)
const handedOut = (w: World, ids: readonly string[]) => ids.map((id) => w.isHandedOut(id))

t.test('no more items with a label are handed out than its limit, and those without it are not held up', (t) => {
  const w = world()
  w.limit('gpu', 2)
  const ids = ['a', 'b', 'c'].map((project) => w.submit(project, GPU))
  const plain = w.submit('d')
  t.same(handedOut(w, [...ids, plain]), [true, true, false, true])
  t.same(why(w, ids[2]!), { code: 'label_limit', detail: '2 of 2 with the label gpu are running' })
  w.end(ids[0]!)
  t.ok(w.isHandedOut(ids[2]!))
  t.end()
})

t.test('items that start in one tick count each other', (t) => {
  const w = world()
  w.limit('gpu', 0)
  const ids = ['a', 'b', 'c'].map((project) => w.submit(project, GPU))
  t.same(why(w, ids[0]!), { code: 'label_limit', detail: 'label gpu is limited to 0' })
  w.limit('gpu', 2)
  t.same(handedOut(w, ids), [true, true, false])
  w.unlimit('gpu')
  t.same(handedOut(w, ids), [true, true, true])
  t.end()
})

t.test('runs of other origin count, and each run once', (t) => {
  const w = world()
  w.limit('gpu', 2)
  w.outside.set('gpu', ['runreq_1'])
  const [first, second] = [w.submit('a', GPU), w.submit('b', GPU)]
  w.start(first)
  t.same(w.scheduler.view().labelLimits(), [{ label: 'gpu', maxRunning: 2, underWay: 2 }])
  t.notOk(w.isHandedOut(second))
  w.outside.clear()
  w.platform.advance(15_000)
  t.ok(w.isHandedOut(second), 'found within the safety interval')
  t.end()
})

t.test('an item needs a place under the limit of each of its labels', (t) => {
  const w = world()
  w.limit('gpu', 5)
  w.limit('staging', 1)
  const first = w.submit('a', { labels: ['staging'] })
  const both = w.submit('b', { labels: ['gpu', 'staging'] })
  t.equal(why(w, both)?.detail, '1 of 1 with the label staging are running')
  w.end(first)
  t.ok(w.isHandedOut(both))
  t.end()
})

t.test('a lowered limit stops nothing, and takes back what no runner holds once enough are under way', (t) => {
  const w = world()
  const ids = ['a', 'b', 'c', 'd'].map((project) => w.submit(project, GPU))
  w.start(ids[1]!)
  w.limit('gpu', 2)
  t.same(handedOut(w, ids), [true, false, true, true], 'one of these may still begin')
  w.start(ids[2]!)
  t.same(handedOut(w, ids), [true, false, false, false], 'but the first, which waits in line with the run requests')
  t.same([w.item(ids[1]!).value, w.item(ids[2]!).value], ['running', 'running'])
  t.match(w.item(ids[3]!).context.reason, '2 of 2 with the label gpu are running')
  w.limit('gpu', 0)
  t.same(handedOut(w, ids), [false, false, false, false])
  t.same([w.item(ids[1]!).value, w.item(ids[2]!).value], ['running', 'running'])
  w.end(ids[1]!)
  w.end(ids[2]!)
  t.same(handedOut(w, [ids[0]!, ids[3]!]), [false, false])
  w.limit('gpu', 1)
  t.same(handedOut(w, [ids[0]!, ids[3]!]), [true, false])
  t.end()
})

t.test('where run requests wait for a full label, one item stands in line with them, and takes up nothing', (t) => {
  const w = world({ maxRunning: 2 })
  w.limit('gpu', 1)
  w.outside.set('gpu', ['runreq_1'])
  const [first, second] = [w.submit('a', GPU), w.submit('b', GPU)]
  t.same(handedOut(w, [first, second]), [false, false], 'nobody else waits')
  w.awaited.add('gpu')
  w.platform.advance(15_000)
  t.same(handedOut(w, [first, second]), [true, false], 'one, though the label is full')
  t.match(w.scheduler.view().labelLimits(), [{ underWay: 1 }])
  const plain = [w.submit('a'), w.submit('c')]
  t.same(handedOut(w, plain), [true, true], 'its repository and its place are free')
  for (const id of plain) w.end(id)
  w.awaited.clear()
  w.platform.advance(15_000)
  t.ok(w.isHandedOut(first), 'it keeps its place in the line when it is the last in it')
  w.outside.clear()
  w.start(first)
  w.awaited.add('gpu')
  w.platform.advance(15_000)
  t.same(handedOut(w, [second]), [true], 'and the next takes that place')
  w.limit('gpu', 0)
  t.same(handedOut(w, [second]), [false], 'which a limit of 0 ends')
  t.end()
})

t.test('an item whose runners are not heard is no reason for others not to stand in line', (t) => {
  const w = world()
  w.limit('gpu', 1)
  w.isExpected = ({ project }) => project !== 'a'
  const silent = w.submit('a', GPU)
  w.platform.advance(15_000)
  w.outside.set('gpu', ['runreq_1'])
  w.awaited.add('gpu')
  w.platform.advance(15_000)
  const heard = w.submit('b', GPU)
  t.same(handedOut(w, [silent, heard]), [false, true])
  t.end()
})

t.test('an item handed out when its label was full gives up its repository and its place', (t) => {
  const w = world({ maxRunning: 1 })
  const first = w.submit('a', GPU)
  const second = w.submit('a')
  t.ok(w.isHandedOut(first))
  w.limit('gpu', 0)
  t.same(handedOut(w, [first, second]), [false, true])
  t.end()
})

t.test('a requeued run stands aside while its label is full, and goes first when it is not', (t) => {
  const w = world()
  w.limit('gpu', 1)
  const first = w.submit('a', GPU)
  w.start(first)
  w.requeue(first)
  w.outside.set('gpu', ['runreq_1'])
  w.platform.advance(15_000)
  const second = w.submit('a')
  t.ok(w.isHandedOut(second), 'its repository is free')
  w.outside.clear()
  w.platform.advance(15_000)
  const third = w.submit('b', GPU)
  t.equal(why(w, third)?.code, 'label_limit')
  t.end()
})

t.test('an item whose runners are not heard leaves its place under the limit to others', (t) => {
  const w = world()
  w.limit('gpu', 1)
  w.isExpected = ({ project }) => project !== 'a'
  const silent = w.submit('a', GPU)
  const next = w.submit('b', GPU)
  w.platform.advance(15_000)
  t.same(handedOut(w, [silent, next]), [true, true])
  w.start(next)
  w.platform.advance(15_000)
  t.same(handedOut(w, [silent]), [false], 'and is taken back when one of them has begun')
  t.end()
})

t.test('limits hold after a restart, before anything is handed out', (t) => {
  const before = world()
  before.limit('gpu', 1)
  const first = before.submit('a', GPU)
  const second = before.submit('b', GPU)
  const w = before.restarted()
  t.same(handedOut(w, [first, second]), [true, false])
  t.same([...w.labelLimits], [['gpu', 1]])
  t.end()
})

t.test(
  'what a person holds back by a limit of 0 is not reported as lacking a runner, and with another limit it is',
  (t) => {
    for (const [max, count] of [
      [0, 0],
      [1, 1],
    ] as const) {
      const w = world()
      w.canTake = () => false
      w.strandedBecause = () => ({ code: 'no_runner_with_labels', detail: 'none' })
      w.limit('gpu', max)
      w.submit('a', GPU)
      t.equal(w.scheduler.waiting.stranded(() => true)(10, undefined).rows.length, count)
    }
    t.end()
  },
)
