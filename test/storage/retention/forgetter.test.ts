/** What retention removes where an event's own time cannot be known: its row is damaged, or its clock was wrong. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { DiskJournal } from '../../../storage/disk-journal.ts'
import { verify } from '../../../storage/verify/verify.ts'
import { flipInEvents, rewriteLog } from '../log-surgery.ts'
import { openIn } from '../open.ts'
import { appendEvents, event } from '../steps.ts'

const OLD = '2020-01-01T00:00:00.000000Z'
const YOUNG = '2021-01-01T00:00:00.000000Z'
const FUTURE = '2999-01-01T00:00:00.000000Z'
const CUT = { recordedBeforeMs: Date.parse('2020-06-01T00:00:00Z') }
const LATER = { recordedBeforeMs: Date.parse('2021-06-01T00:00:00Z') }

const root = t.testdir()
let homes = 0
let names = 0
const newHome = () => join(root, `home${homes++}`)
const keysOf = ({ environments }: DiskJournal) => [...environments.log.events.getKeys()]
const some = (count: number, recordedAt: string) =>
  Array.from({ length: count }, () => event(`${names++}`, { recordedAt, traceId: `t${names}` }))

type Rows = readonly (readonly [number, string])[]

/** Appends this many events of each time, in rows of their own. */
async function write(journal: DiskJournal, ...rows: Rows): Promise<DiskJournal> {
  for (const [count, recordedAt] of rows) await appendEvents(journal, ...some(count, recordedAt))
  await journal.settled()
  return journal
}

/** In files of their own. */
async function written(t: Test, home: string, ...rows: Rows): Promise<DiskJournal> {
  return write(await openIn(t, home, { logFileBytesMax: 1 }), ...rows)
}

t.test('a damaged row is removed once the next readable row is old enough, and not before', async (t) => {
  const home = newHome()
  const journal = await written(t, home, [2, OLD], [3, OLD], [2, YOUNG], [1, OLD], [1, FUTURE])
  flipInEvents(home, 3, 20)
  t.same(await journal.trim(CUT), { removed: 2, more: false })
  t.same(await journal.trim(CUT), { removed: 0, more: false }, 'the next row is young, whatever comes after it')
  t.equal(journal.oldestSequence, 3)
  t.same(await journal.trim(LATER), { removed: 6, more: false, lost: 3 })
  t.equal(journal.oldestSequence, 9)
  t.same(keysOf(journal), [9])
  t.same((await verify(journal.environments)).findings, [])
  await journal.close()
  const again = await openIn(t, home)
  await write(again, [1, OLD])
  t.same(await again.trim(CUT), { removed: 2, more: false })
  t.same((await verify(again.environments)).findings, [])
})

t.test('a damaged row at the end stays', async (t) => {
  const home = newHome()
  const journal = await written(t, home, [1, OLD], [2, OLD])
  flipInEvents(home, 2, 20)
  t.same(await journal.trim(CUT), { removed: 1, more: false })
  t.same(await journal.trim(CUT), { removed: 0, more: false })
  t.same(keysOf(journal), [2])
})

t.test('rows of a retention step that was cut short are deleted by the next one even when damaged', async (t) => {
  for (const [floor, damaged, left] of [
    [20, 3, 15],
    [20, 19, 18],
  ] as const) {
    const home = newHome()
    const first = await openIn(t, home)
    await write(first, [2, OLD], [3, OLD], [13, OLD], [4, OLD], [1, OLD])
    await first.close()
    rewriteLog(home, ({ head }) => Object.assign(head, { floor: `${floor}` }))
    // A start looks through the newest file.
    await (await written(t, home, [1, YOUNG])).close()
    flipInEvents(home, damaged, 20)
    const journal = await openIn(t, home, { logFileBytesMax: 1 })
    t.same(await journal.trim(CUT), { removed: left, more: true })
    t.same(keysOf(journal)[0], 19, 'a row that holds a later event stays')
    const lost = damaged === 19 ? { lost: 3 } : {}
    t.same(await journal.trim(CUT), { removed: 4, more: false, ...lost })
    t.same(keysOf(journal), [24])
    t.same((await verify(journal.environments)).findings, [])
  }
})

t.test('an event dated in the future counts as old as the next event with a credible time', async (t) => {
  const journal = await written(t, newHome(), [3, FUTURE], [1, OLD], [2, FUTURE], [1, YOUNG], [1, OLD], [1, FUTURE])
  t.same(await journal.trim(CUT), { removed: 4, more: false })
  t.same(await journal.trim(LATER), { removed: 4, more: false })
  t.same(await journal.trim(LATER), { removed: 0, more: false }, 'nothing says how old the last one is')
})

t.test('the next credible time is found behind any number of events dated in the future', async (t) => {
  for (const behind of [1, 40, 700]) {
    const journal = await written(t, newHome(), [5_000, FUTURE], [behind, OLD], [3, YOUNG])
    t.same(await journal.trim(CUT), { removed: 2_000, more: true })
    t.same(await journal.trim(CUT), { removed: 2_000, more: true })
    t.same(await journal.trim(CUT), { removed: 1_000 + behind, more: false })
    t.same(await journal.trim(CUT), { removed: 0, more: false })
    t.same((await verify(journal.environments)).findings, [])
  }
  const journal = await written(t, newHome(), [5_000, FUTURE], [700, YOUNG], [3, OLD])
  t.same(await journal.trim(CUT), { removed: 0, more: false }, 'what comes next is young')
})

t.test('under the disk reserve retention goes on while there is room for it', async (t) => {
  const MIB = 1024 * 1024
  let free = 1e12
  const home = newHome()
  const reserve = { diskReserveBytes: 100 * MIB, freeBytes: async () => free, logFileBytesMax: 1 }
  const journal = await openIn(t, home, reserve)
  await write(journal, [1, OLD], [1, OLD], [1, OLD])
  free = 63 * MIB
  await journal.disk.check()
  t.equal(journal.refuses(), 'disk_reserve')
  t.same(await journal.trim(CUT), { removed: 0, more: false })
  free = 64 * MIB
  t.same(await journal.trim(CUT), { removed: 3, more: false })
  t.equal(journal.refuses(), 'disk_reserve')
  t.same((await verify(journal.environments)).findings, [])
})
