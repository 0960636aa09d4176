import fc from 'fast-check'
import t from 'tap'
import type { SnapshotOf } from '../../../machines/machine.ts'
import type { RunRequestContext } from '../../../machines/run-request/context.ts'
import { runRequestModule } from '../../../machines/run-request.ts'
import type { Runtime } from '../../../runtime/api.ts'
import { Guard } from '../../../runtime/control/guard.ts'
import { Queue } from '../../../runtime/dispatch/queue.ts'
import { loadQueue } from '../../../runtime/dispatch/queue-loading.ts'
import { silentLogger } from '../../../runtime/log.ts'
import type { IndexRow } from '../../../storage/journal.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { FakeRuntime, type RequestGiven } from './fake.ts'

const guard = new Guard({ platform: new ManualPlatform(), log: silentLogger, name: 'dispatcher', tryAfter: () => {} })

const given = fc.record(
  {
    project: fc.constantFrom('alpha', 'beta'),
    throttle: fc.constantFrom('full', 'dry_run'),
    access: fc.constantFrom('full', 'read_only'),
    lane: fc.constantFrom('interactive', 'maintenance'),
    entry_event: fc.constantFrom('execution_requested', 'greet_requested'),
    labels: fc.subarray(['gpu', 'linux']).chain((labels) => fc.shuffledSubarray(labels, { minLength: labels.length })),
    priority: fc.constantFrom(-5, 0, 7),
    runner_id: fc.constantFrom(undefined, 'runner_1'),
    repository: fc.constantFrom(null, 'shop', 'bank'),
    approved: fc.boolean(),
    not_before: fc.constantFrom('2026-01-01T00:00:00Z', '2999-01-01T00:00:00Z'),
  },
  { requiredKeys: [] },
)

/** Every request that can be offered, per demand, in the order of its offers. */
function drained(queue: Queue): Record<string, string[]> {
  const orders: Record<string, string[]> = {}
  for (const demand of queue.allDemands()) {
    const ids: string[] = []
    while (demand.ready.size > 0) ids.push(queue.take(demand))
    orders[demand.signature] = ids
  }
  return orders
}

function waiting(runtime: FakeRuntime): SnapshotOf<RunRequestContext>[] {
  return runtime.everyRequest().filter(({ value }) => value === 'queued')
}

t.test('a queue loaded from the index equals the queue built request by request', async (t) => {
  let held = 0
  fc.assert(
    fc.property(fc.array(given, { maxLength: 30 }), (requests) => {
      const runtime = new FakeRuntime()
      for (const one of requests) runtime.create(one as RequestGiven)
      runtime.run()
      const put = new Queue(new ManualPlatform(), () => [])
      for (const { context } of waiting(runtime)) put.put(context)
      const loaded = new Queue(new ManualPlatform(), () => [])
      loadQueue(runtime.runtime, loaded, guard)
      held += waiting(runtime).filter(({ context }) => !context.internal.approved).length
      if (loaded.size !== put.size) throw new Error(`${loaded.size} of ${put.size}`)
      t.same(
        new Set([...loaded.allDemands()].map(({ signature, queued }) => `${queued} ${signature}`)),
        new Set([...put.allDemands()].map(({ signature, queued }) => `${queued} ${signature}`)),
      )
      t.same(drained(loaded), drained(put))
    }),
    { numRuns: 60 },
  )
  t.ok(held > 20, 'some of them waited for an approval')
})

t.test('loading reads one record per demand', async (t) => {
  const runtime = new FakeRuntime()
  for (let n = 0; n < 100; n++) runtime.create({ priority: n % 2 })
  runtime.run()
  const read: string[] = []
  const watched = Object.assign(Object.create(runtime), {
    read: (ref: { kind: 'run_request'; id: string }) => {
      read.push(ref.id)
      return runtime.read(ref)
    },
  })
  const queue = new Queue(new ManualPlatform(), () => [])
  loadQueue(watched, queue, guard)
  t.equal(queue.size, 100)
  t.equal(read.length, 2)
})

/** The same world with other rows in the index of demands. */
function withRows(runtime: FakeRuntime, rows: readonly IndexRow[]): Runtime {
  return Object.assign(Object.create(runtime), { journal: { ...runtime.journal, scanIndex: () => rows } })
}

t.test('a request listed under a demand that its record contradicts does not speak for the other rows', async (t) => {
  const runtime = new FakeRuntime()
  const ids = [1, 2, 3].map((n) => runtime.create({ priority: n }))
  runtime.run()
  // All three under the demand of the last: a wrong index.
  const { value } = runtime.journal.scanIndex('run_request', 'demand').find(({ id }) => id === ids[2])!
  const rows = ids.map((id, n) => ({ value, order: `2026-01-01T00:00:00.00000${n}Z`, id }))
  const queue = new Queue(new ManualPlatform(), () => [])
  loadQueue(withRows(runtime, rows), queue, guard)
  const [demand] = queue.allDemands()
  t.same([queue.take(demand!), queue.take(demand!), queue.take(demand!)], [ids[2], ids[1], ids[0]])
})

t.test('with index rows missing, doubled or damaged, every request is queued exactly once', async (t) => {
  const runtime = new FakeRuntime()
  const ids = Array.from({ length: 4 }, () => runtime.create())
  runtime.run()
  const rows = runtime.journal.scanIndex('run_request', 'demand')
  const damaged: Record<string, readonly IndexRow[]> = {
    'none is there, as before the first start of this version': [],
    'one is missing': rows.slice(1),
    'one is there twice': [...rows, { ...rows[1]!, value: 'f'.repeat(32) }, rows[2]!],
    'the prefix of an id': rows.map((row, n) => (n === 2 ? { ...row, id: row.id.replace('runreq', 'runrep') } : row)),
    'a digit of an id': rows.map((row, n) => (n === 2 ? { ...row, id: `${row.id.slice(0, -1)}g` } : row)),
    'a time': rows.map((row, n) => (n === 2 ? { ...row, order: 'soon' } : row)),
  }
  for (const [what, wrong] of Object.entries(damaged)) {
    const queue = new Queue(new ManualPlatform(), () => [])
    loadQueue(withRows(runtime, wrong), queue, guard)
    t.same(Object.values(drained(queue)), [ids], what)
  }
})

t.test('after a start, the project whose request has waited longest comes first', async (t) => {
  for (const projects of [
    ['alpha', 'beta', 'gamma'],
    ['gamma', 'beta', 'alpha'],
    ['beta', 'alpha', 'gamma'],
  ]) {
    const runtime = new FakeRuntime()
    for (const project of projects) runtime.create({ project })
    for (const project of ['alpha', 'beta', 'gamma']) runtime.create({ project, priority: 9 })
    runtime.run()
    const queue = new Queue(new ManualPlatform(), () => [])
    loadQueue(runtime.runtime, queue, guard)
    const turns: string[] = []
    for (let n = 0; n < 3; n++) {
      const { key, waiting } = queue.inTurn[0]![0]!
      turns.push(key)
      queue.take([...waiting][0]!)
    }
    t.same(turns, projects)
  }
})

t.test('a request is listed by its demand only while it is queued', async (t) => {
  const { terms } = runRequestModule
  const runtime = new FakeRuntime()
  const id = runtime.create()
  runtime.run()
  const demands = () => terms(runtime.request(id)).filter(({ index }) => index === 'demand')
  const before = demands()
  t.equal(before.length, 1)
  runtime.send(id, 'offer', { runner_id: 'r' })
  runtime.run()
  t.equal(runtime.state(id), 'offered')
  t.same(demands(), [])
  runtime.report(id, 'offer_expired', { counted: true })
  runtime.run()
  t.equal(runtime.state(id), 'queued')
  t.same(demands(), before)
})
