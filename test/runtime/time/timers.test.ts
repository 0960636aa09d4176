import fc from 'fast-check'
import t from 'tap'
import { instantMs } from '../../../machines/instant.ts'
import { timersPerReadMax, timersStuckMs } from '../../../runtime/limits.ts'
import { type FiredTimer, Timers } from '../../../runtime/time/timers.ts'

/** How many timers fire in a turn, and are used up a turn later. */
const IN_FLIGHT = 1_000

interface Row {
  readonly kind: 'work_item'
  readonly id: string
  readonly name: string
  readonly dueMs: number
  readonly generation: number
  readonly message: { readonly type: string }
}

/** Timers of a view, each of its own actor, and which of them were read and fired. */
class World {
  readonly timers: Timers
  readonly rows = new Map<string, Row>()
  readonly fired: FiredTimer[] = []
  /** The row count of each read since the last turn. */
  reads: number[] = []
  #generation = 0

  constructor(readMax?: number) {
    const journal = {
      timers: (fromMs: number, toMs: number, limit: number) => {
        const within = [...this.rows.values()].filter(({ dueMs }) => dueMs >= fromMs && dueMs < toMs)
        const found = within.sort((a, b) => a.dueMs - b.dueMs || (a.id < b.id ? -1 : 1)).slice(0, limit)
        this.reads.push(found.length)
        return found
      },
    }
    this.timers = new Timers(journal, readMax)
  }

  /** A step sets the timer, or sets it again. */
  set(id: string, dueMs: number): void {
    const row = this.#rowOf(id, dueMs)
    this.#commit(id, row)
    this.timers.add({ kind: 'work_item', id }, row)
  }

  /** The view has it from an earlier process. */
  restored(id: string, dueMs: number): void {
    this.rows.set(id, this.#rowOf(id, dueMs))
  }

  #rowOf(id: string, dueMs: number): Row {
    return {
      kind: 'work_item',
      id,
      name: 'n',
      dueMs,
      generation: ++this.#generation,
      message: { type: 'due' },
    }
  }

  /** A step consumes or cancels the timer. */
  clear(id: string): void {
    this.#commit(id, undefined)
  }

  /** One turn; returns how many timers fired. */
  turn(nowMs: number, limit = IN_FLIGHT): number {
    this.reads = []
    const before = this.fired.length
    this.timers.takeDue(nowMs, limit, (timer) => {
      // A stale timer would load its actor for nothing.
      if (this.rows.get(timer.ref.id)?.generation !== timer.generation) throw new Error(`${timer.ref.id} fired late`)
      this.fired.push(timer)
    })
    return this.fired.length - before
  }

  /** Fired timers whose row is still unchanged. */
  valid(): FiredTimer[] {
    return this.fired.filter(({ ref, generation }) => this.rows.get(ref.id)?.generation === generation)
  }

  #commit(id: string, row: Row | undefined): void {
    const before = this.rows.get(id)
    if (row === undefined) this.rows.delete(id)
    else this.rows.set(id, row)
    this.timers.committed({ kind: 'work_item', id }, before ? { n: before } : {}, row ? { n: row } : {})
  }
}

const idOf = (n: number): string => String(n).padStart(6, '0')

t.test('timers due in one millisecond are read in pages, fire once each, and come before later ones', async (t) => {
  const w = new World()
  const count = 10 * timersPerReadMax
  w.set('before', 4_999)
  w.set('after', 5_001)
  for (let n = 0; n < count; n++) w.set(idOf(n), 5_000)
  const due: number[] = []
  for (let turns = 0; w.fired.length < count + 2; turns++) {
    t.ok(turns < 1_000, 'it ends')
    const firedBefore = w.fired.length
    w.turn(6_000)
    for (const rows of w.reads) if (rows > 1.5 * timersPerReadMax) t.fail(`${rows} rows in one read`)
    if (w.reads.length > 2) t.fail(`${w.reads.length} reads in one turn`)
    // Commits consume as many as are in flight, some turns later.
    for (const { ref } of w.fired.slice(Math.max(0, firedBefore - IN_FLIGHT), firedBefore)) {
      due.push(w.rows.get(ref.id)!.dueMs)
      w.clear(ref.id)
    }
  }
  t.equal(new Set(w.fired.map(({ ref }) => ref.id)).size, count + 2, 'each once')
  t.same(
    due,
    [...due].sort((a, b) => a - b),
  )
  t.equal(w.fired[0]!.ref.id, 'before')
  t.equal(w.fired.at(-1)!.ref.id, 'after')
})

t.test('a timer due before 1970, or in year 0, fires after a restart', async (t) => {
  const w = new World()
  const times = ['0000-01-01T00:00:00+23:59', '1960-01-01T00:00:00Z', '1980-01-01T00:00:00Z']
  // Committed by an earlier process: this one was told of none of them.
  for (const [n, time] of times.entries()) w.restored(idOf(n), instantMs(time))
  const nowMs = Date.parse('2026-01-01T00:00:00Z')
  t.ok(w.timers.nextMs() <= nowMs)
  w.turn(nowMs)
  t.same(
    w.fired.map(({ ref }) => ref.id),
    times.map((_, n) => idOf(n)),
  )
})

t.test(
  'while fired timers are not consumed, no more of their millisecond are read until timersStuckMs has passed',
  async (t) => {
    const w = new World()
    for (let n = 0; n < 4 * timersPerReadMax; n++) w.set(idOf(n), 5_000)
    while (w.turn(6_000) > 0);
    t.equal(w.fired.length, timersPerReadMax, 'none is consumed')
    t.same([w.turn(6_000), w.reads], [0, []])
    t.equal(w.timers.nextMs(), 6_000 + timersStuckMs)
    for (let n = 0; n < timersPerReadMax / 2; n++) w.clear(idOf(n))
    t.equal(w.timers.nextMs(), 5_000, 'half of them are')
    while (w.turn(6_000) > 0);
    t.equal(w.fired.length, 2 * timersPerReadMax)
    // The others never are (their actors cannot be read), and hold up nothing.
    for (let nowMs = 7_000; w.fired.length < 4 * timersPerReadMax && nowMs < 20_000; nowMs += timersStuckMs)
      while (w.turn(nowMs) > 0);
    t.equal(new Set(w.fired.map(({ ref }) => ref.id)).size, 4 * timersPerReadMax)
    t.equal(w.fired.length, 4 * timersPerReadMax, 'each once')
  },
)

t.test('an unconsumed timer that is set again to the millisecond being read is read with it', async (t) => {
  const w = new World(2)
  for (const id of ['a', 'b']) w.set(id, 5)
  for (const id of ['c', 'd', 'e']) w.set(id, 6)
  while (w.turn(10) > 0);
  while (w.turn(10 + timersStuckMs, 2) > 0);
  t.same(
    w.fired.map(({ ref }) => ref.id),
    ['a', 'b', 'c', 'd'],
  )
  w.set('a', 6)
  for (const id of ['c', 'd']) w.clear(id)
  while (w.turn(10 + timersStuckMs) > 0);
  t.same(
    w.fired.slice(4).map(({ ref }) => ref.id),
    ['a', 'e'],
  )
})

t.test(
  'a timer that was cancelled or set again does not fire, and does not stay in memory until its time',
  async (t) => {
    const w = new World()
    w.turn(1)
    for (const id of ['set anew', 'cancelled', 'kept']) w.set(id, 100)
    w.set('set anew', 200)
    w.clear('cancelled')
    t.equal(w.timers.nextMs(), 100)
    w.turn(150)
    t.same(
      w.fired.map(({ ref }) => ref.id),
      ['kept'],
    )
    w.clear('kept')
    for (let n = 0; n < 20_000; n++) {
      w.set(idOf(n), 100_000)
      w.clear(idOf(n))
    }
    t.ok(w.timers.size < 3_000, `${w.timers.size} entries`)
    w.turn(250)
    t.same(
      w.fired.map(({ ref }) => ref.id),
      ['kept', 'set anew'],
    )
    w.turn(200_000)
    t.equal(w.fired.length, 2)
  },
)

t.test('after any sets, cancels and consumed timers, every due timer has fired once, as last set', async () => {
  const id = fc.nat(11).map(idOf)
  const change = fc.oneof(
    fc.record({ what: fc.constant('set' as const), id, dueMs: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ what: fc.constant('clear' as const), id }),
    fc.record({ what: fc.constant('use' as const), count: fc.nat(4) }),
    fc.record({ what: fc.constant('turn' as const), nowMs: fc.integer({ min: 1, max: 5 }) }),
  )
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const w = new World(2)
      let nowMs = 1
      for (const one of changes) {
        if (one.what === 'set') w.set(one.id, one.dueMs)
        else if (one.what === 'clear') w.clear(one.id)
        else if (one.what === 'use') for (const { ref } of w.valid().slice(0, one.count)) w.clear(ref.id)
        else {
          nowMs = Math.max(nowMs, one.nowMs)
          w.turn(nowMs, 3)
        }
      }
      for (let turns = 0; turns < 100; turns++) w.turn(10 + turns * timersStuckMs, 3)
      const fired = new Set(w.valid().map(({ ref }) => ref.id))
      const missing = [...w.rows.keys()].filter((one) => !fired.has(one))
      const once = new Set(w.fired.map(({ ref, generation }) => `${ref.id} ${generation}`))
      if (once.size < w.fired.length) throw new Error('one fired twice')
      if (missing.length > 0) throw new Error(`${missing.join()} did not fire`)
    }),
    { numRuns: 2_000 },
  )
})
