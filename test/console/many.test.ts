/** What is done to many things at once, and how rows are selected. */
import t from 'tap'
import { selectedAfter, sendMany } from '../../console/many.ts'

t.test('each is sent once, eight at a time, and what is refused is told in the order of the list', async (t) => {
  const all = Array.from({ length: 50 }, (_, id) => ({ id }))
  const sent: number[] = []
  let underWay = 0
  let most = 0
  const counts: number[] = []
  const refused = await sendMany(
    all,
    async ({ id }) => {
      sent.push(id)
      most = Math.max(most, ++underWay)
      for (let turns = 0; turns < 50 - id; turns++) await undefined
      underWay--
      return id % 20 === 3 ? { title: `no ${id}`, status: 409 } : undefined
    },
    (count) => counts.push(count),
  )
  t.same(
    sent,
    all.map(({ id }) => id),
  )
  t.equal(most, 8)
  t.same(
    counts,
    all.map(({ id }) => id + 1),
  )
  t.same(
    refused.map(({ of, problem }) => [of.id, problem.title]),
    [
      [3, 'no 3'],
      [23, 'no 23'],
      [43, 'no 43'],
    ],
  )
  t.same(
    await sendMany(
      [],
      async () => undefined,
      () => t.fail(),
    ),
    [],
  )
})

t.test(
  'a click selects one row, with the shift key all from the one before it, and a second one takes it back',
  (t) => {
    const keys = ['a', 'b', 'c', 'd', 'e']
    const click = (selected: readonly string[], key: string, from: string | undefined, isOn: boolean) =>
      [...selectedAfter(new Set(selected), keys, { key, from, isOn })].sort().join('')
    t.equal(click([], 'b', undefined, true), 'b')
    t.equal(click(['b'], 'd', 'b', true), 'bcd')
    t.equal(click(['d'], 'b', 'd', true), 'bcd')
    t.equal(click(['a', 'b', 'c', 'd'], 'c', 'b', false), 'ad')
    t.equal(click(['b'], 'd', 'gone', true), 'bd', 'the one before may have left the list')
    t.end()
  },
)
