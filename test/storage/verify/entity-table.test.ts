import t from 'tap'
import { EntityTable } from '../../../storage/verify/entity-table.ts'

t.test('each of thousands of entities has one row with numbers of its own', async (t) => {
  const table = new EntityTable(3)
  const expected = new Map<string, number>()
  for (let i = 0; i < 20_000; i += 1) {
    const id = `id${(i * 7_919) % 6_000}`
    const kind = i % 2 === 0 ? 'run_request' : 'runner'
    const row = table.row(kind, id)
    table.set(row, i % 3, i + 1)
    expected.set(`${kind} ${id} ${i % 3}`, i + 1)
  }
  t.equal(table.size, new Set([...expected.keys()].map((key) => key.split(' ').slice(0, 2).join(' '))).size)
  const wrong = [...expected].filter(([key, value]) => {
    const [kind, id, slot] = key.split(' ') as [string, string, string]
    return table.get(table.find(kind, id), Number(slot)) !== value
  })
  t.same(wrong, [])
  t.equal(table.find('runner', 'nobody'), -1)
  t.equal(table.get(table.row('token', 'new'), 2), 0, 'nothing was set yet')
  t.throws(() => table.set(0, 0, 2 ** 32), RangeError)
})
