/** Which items take a place, how many places there are, and when a question that was answered is asked again. */
import t from 'tap'
import type { RunnerRequirements } from '../../../runtime/dispatch/api.ts'
import type { Entry } from '../../../runtime/scheduler/ledger.ts'
import { Occupancy } from '../../../runtime/scheduler/occupancy.ts'

/** Two wishes: only some runners take the first. */
const LINUX = { project: 'linux' } as RunnerRequirements
const MAC = { project: 'mac' } as RunnerRequirements

/** What the dispatcher and the ledger would say, and how often the dispatcher was asked. */
class Surroundings {
  capacity = 2
  trustedCapacity = 2
  takers: RunnerRequirements[] = [LINUX, MAC]
  free: RunnerRequirements[] = [LINUX, MAC]
  expected: RunnerRequirements[] = [LINUX, MAC]
  /** Runs that a runner has, and whether each takes a slot of an online runner. */
  readonly slots = new Map<string, boolean>()
  readonly entries = new Set<Entry>()
  readonly starting = new Set<string>()
  hasReadOnly = false
  /** Entries whose check throws. */
  readonly unclear = new Set<Entry>()
  readonly asked = { hasTaker: 0, isExpected: 0, freeTakers: 0, onlineCapacity: 0 }

  occupancy(maxRunning?: number): Occupancy {
    const { asked } = this
    const self = this
    return new Occupancy({
      dispatcher: {
        hasTaker: (wanted) => {
          asked.hasTaker++
          return this.takers.includes(wanted)
        },
        isExpected: (wanted) => {
          asked.isExpected++
          return this.expected.includes(wanted)
        },
        freeTakers: () => {
          asked.freeTakers++
          const { free } = this
          return (wanted) => free.includes(wanted)
        },
        onlineCapacity: (includesReadOnly) => {
          asked.onlineCapacity++
          return includesReadOnly ? this.capacity : this.trustedCapacity
        },
        usesSlot: (run) => this.slots.get(run),
      },
      ledger: {
        get running() {
          return self.entries
        },
        get placedCount() {
          return [...self.entries].filter(({ isAside }) => !isAside).length
        },
        get hasReadOnly() {
          return self.hasReadOnly
        },
      },
      maxRunning,
      starting: this.starting,
      guarded: (entry, act) => (this.unclear.has(entry) ? undefined : act()),
    })
  }

  /** An item that runs, or is handed out and waits for a runner. */
  add(runId: string, requirements: RunnerRequirements, more: Partial<Entry> = {}): Entry {
    const entry = { runId, requirements, isAside: false, ...more } as Entry
    this.entries.add(entry)
    return entry
  }
}

const WAITING = { requirements: LINUX }

/** Every answer that the occupancy gives. */
function answers(occupancy: Occupancy): unknown[] {
  return [
    occupancy.hasRunner(WAITING),
    occupancy.isExpected(WAITING),
    occupancy.hasPlace(WAITING),
    occupancy.running(),
    occupancy.maxRunning(),
  ]
}

t.test('a question is asked once until something changes, and one about the fleet until the fleet changes', (t) => {
  const around = new Surroundings()
  const occupancy = around.occupancy()
  around.capacity = around.trustedCapacity = 1
  const entry = around.add('run1', LINUX)
  const before = answers(occupancy)
  t.same(before, [true, true, false, 1, 1])
  t.same(around.asked, { hasTaker: 1, isExpected: 1, freeTakers: 1, onlineCapacity: 1 })
  around.entries.delete(entry)
  around.takers = []
  around.expected = []
  around.capacity = around.trustedCapacity = 0
  t.same(answers(occupancy), before, 'as long as it hears of no change')
  t.same(around.asked, { hasTaker: 1, isExpected: 1, freeTakers: 1, onlineCapacity: 1 })
  occupancy.changed()
  t.same(answers(occupancy), [true, false, true, 0, 1], 'items and polls have changed')
  t.same(around.asked, { hasTaker: 1, isExpected: 2, freeTakers: 1, onlineCapacity: 1 })
  around.expected = [LINUX]
  around.add('run2', MAC)
  occupancy.fleetChanged()
  t.same(answers(occupancy), [false, true, false, 0, 0])
  t.same(around.asked, { hasTaker: 3, isExpected: 3, freeTakers: 2, onlineCapacity: 2 }, 'once for each wish')
  t.end()
})

t.test('an item takes a place from when it begins to be handed out, and is counted once', (t) => {
  const around = new Surroundings()
  const counted = around.occupancy()
  t.equal(counted.running(), 0)
  around.starting.add('a')
  counted.started()
  t.equal(counted.running(), 1)
  const recounted = around.occupancy()
  recounted.started()
  t.equal(recounted.running(), 1, 'the count is made after it began')
  around.starting.add('b')
  counted.started()
  t.equal(counted.running(), 2)
  counted.changed()
  t.equal(counted.running(), 2)
  t.end()
})

t.test('items that wait for busy runners do not keep an item from a free one', (t) => {
  const around = new Surroundings()
  const occupancy = around.occupancy()
  around.add('run1', MAC)
  around.add('run2', MAC)
  around.free = [LINUX]
  t.equal(occupancy.running(), 2, 'a runner may take each of them')
  t.ok(occupancy.hasPlace(WAITING))
  t.notOk(occupancy.hasPlace({ requirements: MAC }))
  for (const id of ['a', 'b']) {
    t.ok(occupancy.hasPlace(WAITING), `before ${id}`)
    around.starting.add(id)
    occupancy.started()
  }
  t.notOk(occupancy.hasPlace(WAITING), 'the free slots are taken')
  t.end()
})

t.test('a free runner is looked for again once something has changed', (t) => {
  const around = new Surroundings()
  around.capacity = around.trustedCapacity = 1
  const occupancy = around.occupancy()
  around.add('run1', MAC)
  around.free = []
  t.notOk(occupancy.hasPlace(WAITING))
  around.free = [LINUX]
  t.notOk(occupancy.hasPlace(WAITING), 'it has not heard of it')
  occupancy.changed()
  t.ok(occupancy.hasPlace(WAITING))
  around.slots.set('run1', true)
  t.ok(occupancy.hasPlace(WAITING), 'it has not heard of it')
  occupancy.changed()
  t.notOk(occupancy.hasPlace(WAITING), 'the item runs now')
  t.end()
})

t.test('what runs on no online runner, waits for none or stands aside takes no place', (t) => {
  const around = new Surroundings()
  const counts = () => around.occupancy().running()
  around.slots.set('run1', true).set('run2', false)
  around.add('run1', LINUX)
  around.add('run2', LINUX)
  t.equal(counts(), 1, 'the runner of the second is gone')
  around.takers = [LINUX]
  around.add('run3', LINUX)
  around.add('run4', MAC)
  t.equal(counts(), 2, 'no runner may take the fourth')
  around.add('run5', LINUX, { isAside: true })
  t.equal(counts(), 2)
  around.unclear.add(around.add('run6', MAC))
  t.equal(counts(), 3, 'one whose check fails may hold a place')
  t.end()
})

t.test('under a cap of the service, all that is handed out or runs counts, and no runner is asked', (t) => {
  const around = new Surroundings()
  around.capacity = 1
  const occupancy = around.occupancy(3)
  around.takers = []
  around.add('run1', MAC)
  around.slots.set('run2', false)
  around.add('run2', MAC)
  t.equal(occupancy.running(), 2)
  t.equal(occupancy.maxRunning(), 3)
  t.ok(occupancy.hasPlace(WAITING))
  around.starting.add('a')
  occupancy.started()
  t.equal(occupancy.running(), 3)
  t.notOk(occupancy.hasPlace(WAITING), 'although a runner is free')
  t.same(around.asked, { hasTaker: 0, isExpected: 0, freeTakers: 0, onlineCapacity: 0 })
  t.end()
})

t.test('slots of untrusted runners count only while some item is read-only', (t) => {
  const around = new Surroundings()
  around.capacity = 5
  const occupancy = around.occupancy()
  t.equal(occupancy.maxRunning(), 2)
  around.hasReadOnly = true
  t.equal(occupancy.maxRunning(), 5, 'which is another question')
  around.hasReadOnly = false
  t.equal(occupancy.maxRunning(), 2)
  t.equal(around.asked.onlineCapacity, 2)
  t.end()
})
