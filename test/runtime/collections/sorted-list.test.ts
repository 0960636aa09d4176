import fc from 'fast-check'
import t from 'tap'
import { SortedList } from '../../../runtime/collections/sorted-list.ts'

t.test('after any additions and removals the list holds exactly its entries, in order', (t) => {
  const change = fc.record({ key: fc.integer({ min: 0, max: 30 }), isRemoval: fc.boolean() })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
      const list = new SortedList<{ key: number; n: number }>((a, b) => a.key - b.key || a.n - b.n)
      const model: { key: number; n: number }[] = []
      changes.forEach(({ key, isRemoval }, n) => {
        const known = model.findIndex((entry) => entry.key === key)
        if (isRemoval && known >= 0) list.remove(model.splice(known, 1)[0]!)
        else if (isRemoval) list.remove({ key, n })
        else {
          const entry = { key, n }
          model.push(entry)
          list.add(entry)
        }
        t.strictSame(
          list.all(),
          [...model].sort((a, b) => a.key - b.key || a.n - b.n),
        )
      })
    }),
    { numRuns: 60 },
  )
  t.end()
})
