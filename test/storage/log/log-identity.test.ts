/** Incarnations: which start recorded what, and how a restored copy of a home is told from what it lacks. */
import { cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeCursor, placeOf } from '../../../runtime/stream/cursor.ts'
import { exportEvents } from '../../../storage/copies/export.ts'
import { type Incarnations, incarnationAt, withNewIncarnation } from '../../../storage/log/log-identity.ts'
import { ofManyFiles, openIn } from '../open.ts'
import { appendEvents, event } from '../steps.ts'

const platform = { randomHex: (digits: number) => '01'.repeat(digits / 2) }

t.test('an incarnation begins after the last event, and one that recorded nothing leaves no trace', async (t) => {
  let known: Incarnations = withNewIncarnation([], { oldestSequence: 1, lastSequence: 0 }, platform)
  t.same(known, [[1, '111111']])
  known = withNewIncarnation([[1, 'a']], { oldestSequence: 1, lastSequence: 0 }, platform)
  t.same(known, [[1, '111111']], 'no event between the two')
  known = withNewIncarnation([[1, 'a']], { oldestSequence: 1, lastSequence: 7 }, platform)
  t.same(known, [
    [1, 'a'],
    [8, '111111'],
  ])
  t.equal(incarnationAt(known, 0), undefined)
  t.equal(incarnationAt(known, 1), 'a')
  t.equal(incarnationAt(known, 7), 'a')
  t.equal(incarnationAt(known, 8), '111111')
})

t.test(
  'the incarnations of removed events are forgotten, except that of the place just before the oldest event',
  async (t) => {
    const known: Incarnations = [
      [1, 'a'],
      [5, 'b'],
      [9, 'c'],
    ]
    const names = (oldestSequence: number) =>
      withNewIncarnation(known, { oldestSequence, lastSequence: 20 }, platform).map(([, name]) => name)
    t.same(names(5), ['a', 'b', 'c', '111111'])
    t.same(names(6), ['b', 'c', '111111'])
    t.same(names(9), ['b', 'c', '111111'])
    t.same(names(10), ['c', '111111'])
  },
)

t.test('the newest thousand incarnations are kept', async (t) => {
  let known: Incarnations = []
  for (let n = 0; n < 1_100; n += 1) known = withNewIncarnation(known, { oldestSequence: 1, lastSequence: n }, platform)
  t.equal(known.length, 1_000)
  t.equal(known.at(-1)![0], 1_100)
  t.equal(incarnationAt(known, 100), undefined, 'the incarnation of older events is unknown')
})

t.test('places stay valid over any number of starts, also where nothing was recorded in between', async (t) => {
  const home = join(t.testdir(), 'home')
  const cursors: string[] = []
  for (let n = 1; n <= 6; n += 1) {
    const journal = await openIn(t, home)
    if (n % 3 !== 0) await appendEvents(journal, event(`${n}`))
    cursors.push(encodeCursor(journal, journal.lastSequence))
    for (const cursor of cursors) t.match(placeOf(cursor, journal), { ok: true })
    await journal.close()
  }
})

for (const [how, isInService] of [
  ['after a stop', false],
  ['in service', true],
] as const) {
  t.test(`a home copied ${how} and put back does not accept places of events that it lacks`, async (t) => {
    const root = t.testdir()
    const [home, copy] = [join(root, 'home'), join(root, 'copy')]
    const first = await openIn(t, home)
    await appendEvents(first, event('1'), event('2'))
    const kept = [encodeCursor(first, 1), encodeCursor(first, 2)]
    await first.settled()
    if (!isInService) await first.close()
    cpSync(home, copy, { recursive: true })
    const lost = isInService ? first : await openIn(t, home)
    await appendEvents(lost, event('3'), event('4'))
    const gone = [encodeCursor(lost, 3), encodeCursor(lost, 4)]
    await lost.close()
    rmSync(home, { recursive: true })
    renameSync(copy, home)
    const again = await openIn(t, home)
    await appendEvents(again, event('30'), event('40'), event('50'))
    for (const cursor of kept) t.match(placeOf(cursor, again), { ok: true }, 'events that both have keep their places')
    for (const cursor of gone) t.match(placeOf(cursor, again), { ok: false, code: 'cursor_of_another_log' })
    t.match(placeOf(encodeCursor(again, 4), again), { ok: true, sequence: 4 })
    await again.close()
  })
}

t.test('an export is not continued in a home that was put back', async (t) => {
  const root = t.testdir()
  const [home, copy] = [join(root, 'home'), join(root, 'copy')]
  await ofManyFiles(t, home, 3)
  cpSync(home, copy, { recursive: true })
  const lost = await openIn(t, home)
  await appendEvents(lost, event('4'))
  await lost.close()
  const { log, lastSequence: sequence } = await exportEvents(home, join(root, 'one'))
  const place = { epoch: log.epoch, sequence, incarnation: log.incarnationAt(sequence) }
  t.match(await exportEvents(home, join(root, 'one'), place), { events: 0 })
  const again = await openIn(t, copy)
  await appendEvents(again, event('40'), event('50'))
  await again.close()
  await t.rejects(exportEvents(copy, join(root, 'one'), place), /event 4 is a different one/)
})
