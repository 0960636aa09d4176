import fc from 'fast-check'
import t from 'tap'
import { SortedChunks } from '../../../runtime/collections/sorted-chunks.ts'

interface Entry {
  readonly key: number
  readonly n: number
}

const compare = (a: Entry, b: Entry): number => a.key - b.key || a.n - b.n

t.test('after any additions and removals the list holds exactly its entries, in order', (t) => {
  // Runs of additions or removals, long enough to split chunks, empty them and bring them together.
  const run = fc.record({
    isRemoval: fc.boolean(),
    count: fc.integer({ min: 1, max: 400 }),
    from: fc.nat(500),
    step: fc.constantFrom(-7, 0, 1, 13),
  })
  fc.assert(
    fc.property(fc.array(run, { maxLength: 12 }), (runs) => {
      const list = new SortedChunks<Entry>(compare)
      const model: Entry[] = []
      let n = 0
      for (const { isRemoval, count, from, step } of runs) {
        for (let i = 0; i < count; i++) {
          if (!isRemoval) {
            const entry = { key: from + i * step, n: n++ }
            list.add(entry)
            model.push(entry)
          } else if (model.length > 0) list.remove(model.splice((from + i * Math.abs(step)) % model.length, 1)[0]!)
        }
        list.remove({ key: from, n: -1 })
        const sorted = [...model].sort(compare)
        t.strictSame(list.chunks().flat(), sorted)
        t.equal(list.first, sorted[0])
        t.ok(list.chunks().every(({ length }) => length > 0 && length <= 128))
        t.ok(list.chunks().length <= Math.ceil(model.length / 32) + 1, 'few chunks')
      }
    }),
    { numRuns: 60 },
  )
  t.end()
})
