import fc from 'fast-check'
import t from 'tap'
import type { Deadline } from '../../../machines/machine.ts'
import { MinHeap } from '../../../runtime/collections/heap.ts'
import { Deadlines, type Unheard } from '../../../runtime/time/deadlines.ts'

const ref = { kind: 'run_request', id: 'r' } as const
const lease = (key: string, afterMs = 100, renewedBy = ['heartbeat']): Deadline => ({
  name: 'lease',
  key,
  afterMs,
  renewedBy,
  message: { type: 'lease_expired', key },
})

const HEARD: Unheard = { refusedMs: Number.NEGATIVE_INFINITY, stoodStillMs: Number.NEGATIVE_INFINITY }

function due(deadlines: Deadlines, nowMs: number, unheard: Partial<Unheard> = {}): string[] {
  const out: string[] = []
  deadlines.takeDue(nowMs, { ...HEARD, ...unheard }, 100, (_ref, deadline) => out.push(deadline.key))
  return out
}

t.test('a heap gives its items in the order of their keys', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (keys) => {
      const heap = new MinHeap<number>()
      for (const key of keys) heap.push(key, key)
      const out: number[] = []
      while (heap.size > 0) out.push(heap.pop()!)
      t.same(
        out,
        [...keys].sort((a, b) => a - b),
      )
    }),
  )
})

t.test('a deadline falls due once its length has passed and not before', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('1')], 0)
  t.same(due(deadlines, 99), [])
  t.same(due(deadlines, 100), ['1'])
})

t.test('a step that leaves a deadline in force does not move it', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('1')], 0)
  deadlines.set('k', ref, [lease('1')], 60)
  t.same(due(deadlines, 100), ['1'])
})

t.test('deadlines of different names run beside each other under one key', async (t) => {
  const deadlines = new Deadlines()
  const grace = { ...lease('1', 60, []), name: 'grace', message: { type: 'grace_over' } }
  deadlines.set('k', ref, [lease('1')], 0)
  deadlines.set('k', ref, [lease('1'), grace], 20)
  t.same([deadlines.dueMs('k', 'lease'), deadlines.dueMs('k', 'grace')], [100, 80])
  deadlines.set('k', ref, [grace, lease('1')], 30)
  t.same([deadlines.dueMs('k', 'lease'), deadlines.dueMs('k', 'grace')], [100, 80])
  const names: string[] = []
  deadlines.takeDue(99, HEARD, 100, (_ref, deadline) => names.push(deadline.name))
  t.same(names, ['grace'])
  deadlines.set('k', ref, [lease('1')], 99)
  t.same(due(deadlines, 1_000), ['1'], 'the ended one is not due again')
})

t.test('a renewal restarts a renewable deadline, and does not move a fixed one', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('1'), { ...lease('2', 100, []), name: 'offer' }], 0)
  deadlines.renew('k', 60)
  t.same(due(deadlines, 150), ['2'])
  t.same(due(deadlines, 160), ['1'])
})

t.test('a post renews only the deadlines that name its type', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('1'), { ...lease('2', 100, ['events']), name: 'other' }], 0)
  deadlines.heard('k', 'heartbeat', 60)
  deadlines.heard('k', 'cancel', 80)
  t.same(due(deadlines, 150), ['2'])
  t.same(due(deadlines, 160), ['1'])
})

t.test('a deadline that is renewed or ended while its message waits is no longer due', async (t) => {
  const deadlines = new Deadlines()
  const waiting: (() => boolean)[] = []
  const take = (nowMs: number) => deadlines.takeDue(nowMs, HEARD, 100, (_ref, _deadline, isDue) => waiting.push(isDue))
  deadlines.set('k', ref, [lease('1')], 0)
  take(100)
  t.equal(waiting[0]!(), true)
  deadlines.renew('k', 100)
  t.equal(waiting[0]!(), false, 'even at the same moment')
  take(200)
  t.equal(waiting[1]!(), true)
  deadlines.set('k', ref, [], 202)
  t.equal(waiting[1]!(), false)
})

t.test('a renewed deadline counts from its renewal, and an ended one never falls due', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('1')], 0)
  deadlines.renew('k', 90)
  t.equal(deadlines.dueMs('k', 'lease'), 190)
  t.same(due(deadlines, 189), [])
  deadlines.set('k', ref, [], 189)
  t.same(due(deadlines, 1_000), [])
  t.equal(deadlines.size, 0)
})

t.test('the same deadline with another key starts in full', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('attempt 1', 100, [])], 0)
  deadlines.set('k', ref, [lease('attempt 2', 100, [])], 90)
  t.same(due(deadlines, 100), [])
  t.same(due(deadlines, 190), ['attempt 2'])
})

t.test('a deadline that ran while writes were refused starts again in full', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('1')], 0)
  t.same(due(deadlines, 120, { refusedMs: 110 }), [])
  t.same(due(deadlines, 209, { refusedMs: 110 }), [])
  t.same(due(deadlines, 215, { refusedMs: 212 }), [], 'however often that happens')
  t.same(due(deadlines, 311, { refusedMs: 212 }), [])
  t.same(due(deadlines, 312, { refusedMs: 212 }), ['1'])
})

t.test(
  'a deadline that ran while the process stood still restarts once, and again only after a sign of life',
  async (t) => {
    const deadlines = new Deadlines()
    deadlines.set('k', ref, [lease('1')], 0)
    t.same(due(deadlines, 120, { stoodStillMs: 120 }), [])
    t.same(due(deadlines, 219, { stoodStillMs: 120 }), [])
    t.same(due(deadlines, 230, { stoodStillMs: 230 }), ['1'])
    t.same(due(deadlines, 340, { stoodStillMs: 340 }), [], 'its message was sent')
    deadlines.heard('k', 'heartbeat', 400)
    t.same(due(deadlines, 510, { stoodStillMs: 510 }), [], 'heard in the meantime')
    t.same(due(deadlines, 620, { stoodStillMs: 620 }), ['1'])
  },
)

t.test('a deadline whose message changed nothing falls due again after its full length', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('k', ref, [lease('1')], 0)
  t.same(due(deadlines, 100), ['1'])
  t.same(due(deadlines, 150), [])
  t.same(due(deadlines, 200), ['1'])
})

t.test('ended deadlines do not pile up in memory until their time', async (t) => {
  const deadlines = new Deadlines()
  deadlines.set('kept', ref, [lease('kept', 500)], 0)
  for (let run = 0; run < 20_000; run++) {
    deadlines.set(`run ${run}`, ref, [lease('1', 1_000)], 0)
    deadlines.set(`run ${run}`, ref, [], 0)
  }
  t.ok(deadlines.entries < 3_000, `${deadlines.entries} entries`)
  t.equal(deadlines.size, 1)
  t.same(due(deadlines, 500), ['kept'])
  t.same(due(deadlines, 900), [])
})
