import fc from 'fast-check'
import t from 'tap'
import type { RunRequestContext } from '../../../machines/run-request/context.ts'
import type { ListRow } from '../../../runtime/api.ts'
import { IndexHeap } from '../../../runtime/collections/index-heap.ts'
import type { Supply } from '../../../runtime/dispatch/eligibility.ts'
import { IdTable } from '../../../runtime/dispatch/id-table.ts'
import { Queue } from '../../../runtime/dispatch/queue.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { requestId } from './fake.ts'

t.test('the heap gives its items in order, whatever is removed or moved in between', async () => {
  const change = fc.tuple(fc.constantFrom('push', 'remove', 'move'), fc.nat(40), fc.integer({ min: 0, max: 20 }))
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const keys = new Map<number, number>()
      const positions = { of: new Int32Array(41).fill(-1) }
      const heap = new IndexHeap(positions, (a, b) => keys.get(a)! < keys.get(b)!)
      const inside = new Set<number>()
      for (const [what, item, key] of changes) {
        if (what === 'push' && !inside.has(item)) {
          keys.set(item, key)
          heap.push(item)
          inside.add(item)
        } else if (what === 'remove' && inside.has(item)) {
          heap.remove(item)
          inside.delete(item)
        } else if (what === 'move' && inside.has(item)) {
          keys.set(item, key)
          heap.moved(item)
        }
        const least = Math.min(...[...inside].map((one) => keys.get(one)!))
        if (heap.size !== inside.size) throw new Error('size')
        if (inside.size > 0 && keys.get(heap.first) !== least) throw new Error('first')
        if (inside.size === 0 && heap.first !== -1) throw new Error('empty')
      }
    }),
  )
})

t.test('the id table finds what a Map finds', async () => {
  // Few different words, so that parts of ids and hash places collide.
  const id = fc
    .tuple(fc.nat(3), fc.nat(3), fc.nat(3))
    .map((words) => `runreq_${words.map((one) => one.toString(16).padStart(8, '0')).join('')}`)
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), id), { maxLength: 200 }), (changes) => {
      const table = new IdTable(64)
      const map = new Map<string, number>()
      const free = Array.from({ length: 64 }, (_, slot) => slot)
      for (const [isAdded, one] of changes) {
        const slot = map.get(one)
        if (isAdded && slot === undefined) {
          const next = free.shift()!
          table.add(one, next)
          map.set(one, next)
        } else if (!isAdded && slot !== undefined) {
          table.remove(slot)
          map.delete(one)
          free.push(slot)
        }
        for (const [known, at] of map) if (table.find(known) !== at || table.idOf(at) !== known) throw new Error(known)
        if (!map.has(one) && table.find(one) !== -1) throw new Error('found what is gone')
      }
    }),
  )
})

t.test('an id that is not of a run request throws', async (t) => {
  t.throws(() => new IdTable(64).find('runreq_1'), /not the id of a run request/)
})

function context(n: number, given: Partial<RunRequestContext['asked']> = {}, project = 'alpha'): RunRequestContext {
  const micros = String(n % 1_000_000).padStart(6, '0')
  return {
    id: requestId(n),
    project,
    throttle: 'dry_run',
    asked: {
      access: 'full',
      lane: 'interactive',
      entry_event: 'execution_requested',
      labels: [],
      priority: 0,
      ...given,
    },
    created_at: `2026-01-01T00:00:00.${micros}Z`,
    internal: { repository: null, approved: true, ready: true },
    made: {},
  } as unknown as RunRequestContext
}

t.test('requests created within one millisecond keep their order by microsecond', async (t) => {
  const queue = new Queue(new ManualPlatform(), () => [])
  for (const n of [700, 3, 250, 4]) queue.put(context(n))
  const demand = queue.demandOfRequest(requestId(3))!
  const order = [1, 2, 3, 4].map(() => {
    const id = queue.take(demand)
    queue.remove(id)
    return id
  })
  t.same(order, [3, 4, 250, 700].map(requestId))
})

t.test('requests created in the same microsecond go by their ids, also in lists', async (t) => {
  const queue = new Queue(new ManualPlatform(), () => [])
  const ids = ['runreq_00000001f000000000000002', 'runreq_00000001f000000000000001', 'runreq_0000000100000000ffffffff']
  for (const id of ids) queue.put({ ...context(1), id })
  const sorted = ids.toSorted()
  const demand = queue.demandOfRequest(ids[0]!)!
  const pages: (string | undefined)[] = []
  let after: ListRow | undefined
  for (let n = 0; n < 3; n++) {
    const page = queue.newestOfferable(new Set([demand]), 1, after)
    pages.push(page.rows[0]?.id)
    after = page.next
  }
  t.same([pages, after], [sorted.toReversed(), undefined])
  const order = ids.map(() => {
    const id = queue.take(demand)
    queue.remove(id)
    return id
  })
  t.same(order, sorted)
})

t.test('backlog counts and ages are by project, with the oldest request of each, ready or not', async (t) => {
  const platform = new ManualPlatform(Date.UTC(2026, 0, 1, 0, 0, 2))
  const queue = new Queue(platform, () => [])
  for (const n of [5_000, 3_000, 4_000, 1_000]) queue.put(context(n))
  const unready = { ...context(500_000, {}, 'beta').internal, ready: false }
  queue.put({ ...context(500_000, {}, 'beta'), internal: unready })
  queue.remove(requestId(1_000))
  t.same(queue.byProject(), [
    { project: 'alpha', count: 3, oldestAgeMs: 1_997 },
    { project: 'beta', count: 1, oldestAgeMs: 1_500 },
  ])
})

t.test('projects get their first turns by the age of their oldest request that is ready', async (t) => {
  const queue = new Queue(new ManualPlatform(), () => [])
  const unready = context(1, {}, 'gamma')
  queue.put({ ...unready, internal: { ...unready.internal, ready: false } })
  for (const [n, project] of [
    [40, 'alpha'],
    [30, 'beta'],
    [50, 'gamma'],
    [20, 'alpha'],
  ] as const)
    queue.put(context(n, {}, project))
  queue.put(context(10, {}, 'delta'))
  queue.remove(requestId(10))
  queue.seatByAge()
  t.same(
    queue.inTurn.flat().map(({ key }) => key),
    ['alpha', 'beta', 'gamma'],
  )
})

t.test('the queue is empty and in order after ten thousand requests went in and out, three times', async (t) => {
  const queue = new Queue(new ManualPlatform(), () => [])
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 10_000; n++) queue.put(context(n, { priority: n % 7 }))
    t.equal(queue.size, 10_000)
    for (let n = 0; n < 10_000; n += 2) queue.remove(requestId(n))
    const demand = queue.demandOfRequest(requestId(1))!
    t.equal(demand.ready.size, 5_000)
    let before = 7
    for (let left = 5_000; left > 0; left--) {
      const id = queue.take(demand)
      const priority = Number.parseInt(id.slice(7), 16) % 7
      if (priority > before) t.fail('out of order')
      before = priority
      queue.remove(id)
    }
    t.equal(queue.size, 0)
  }
})

t.test('demands without requests are forgotten', async (t) => {
  const queue = new Queue(new ManualPlatform(), () => [])
  for (let n = 0; n < 5_000; n++) {
    queue.put(context(n, { labels: [`label-${n}`], runner_id: `r${n}` }, `project-${n}`))
    queue.remove(requestId(n))
  }
  t.ok([...queue.allDemands()].length < 600)
  t.same([...queue.demandsPinnedTo('r1')], [])
})

t.test('a demand that is forgotten is taken from its supplies and its repository, and the others stay', async (t) => {
  const supply: Supply = {
    signature: 'all',
    projects: undefined,
    labels: new Set(),
    isTrusted: true,
    available: new IndexHeap({ of: new Int32Array(0) }, () => false),
    demands: [],
  }
  const queue = new Queue(new ManualPlatform(), () => [supply])
  const of = (n: number, repository: string) => {
    const made = context(n, { entry_event: `event_${n}` })
    return { ...made, throttle: 'full' as const, made: { ...made.made, repository } }
  }
  queue.put(of(0, 'kept'))
  for (let n = 1; n < 1_000; n++) {
    queue.put(of(n, 'shared'))
    queue.remove(requestId(n))
  }
  const demands = new Set(queue.allDemands())
  t.ok(demands.size < 600)
  t.same([supply.demands.length, supply.demands.every((one) => demands.has(one))], [demands.size, true])
  t.ok(demands.has(queue.demandOfRequest(requestId(0))!))
  t.equal([...queue.demandsOfRepository('shared')].length, demands.size - 1)
})

t.test('a request whose demand changes moves to the new demand', async (t) => {
  const queue = new Queue(new ManualPlatform(), () => [])
  queue.put(context(1))
  const before = queue.demandOfRequest(requestId(1))!
  queue.put(context(1, { labels: ['gpu'] }))
  const after = queue.demandOfRequest(requestId(1))!
  t.equal(before.ready.size + before.queued, 0)
  t.equal(after.ready.size, 1)
  t.same(after.labels, ['gpu'])
})

t.test('a request that is being offered or held back does not become ready again through another step', async (t) => {
  const queue = new Queue(new ManualPlatform(), () => [])
  const demand = queue.put(context(1))!
  const id = queue.take(demand)
  t.equal(queue.put(context(1)), undefined)
  t.equal(demand.ready.size, 0)
  t.ok(queue.holdBack(id))
  t.equal(queue.put(context(1)), undefined)
  t.equal(queue.release(id, context(1)), demand)
  t.equal(demand.ready.size, 1)
  queue.remove(id)
  t.notOk(queue.holdBack(id), 'a removed request cannot be held back')
  t.equal(queue.release(id, context(1)), undefined)
})
