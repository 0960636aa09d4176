import fc from 'fast-check'
import t from 'tap'
import type { ListRow } from '../../../runtime/api.ts'
import { firstOf, newestFirst } from '../../../runtime/collections/newest.ts'

const row = fc.record({ order: fc.constantFrom('1', '2', '3'), id: fc.stringMatching(/^[a-z]{1,2}$/) })
const key = ({ order, id }: ListRow): string => `${order} ${id}`

t.test('consecutive pages give all rows, newest first', (t) => {
  fc.assert(
    fc.property(
      fc.uniqueArray(row, { selector: key, maxLength: 30 }),
      fc.integer({ min: 1, max: 8 }),
      (rows, limit) => {
        const read: ListRow[] = []
        for (let more = true; more; ) {
          const after = read.at(-1)
          const isBehind = (one: ListRow) => after === undefined || newestFirst(one, after) > 0
          const page = firstOf(rows, newestFirst, limit, isBehind)
          t.ok(page.first.length === limit || !page.more)
          read.push(...page.first)
          more = page.more
        }
        t.same(read.map(key), rows.map(key).sort().reverse())
      },
    ),
  )
  t.end()
})
