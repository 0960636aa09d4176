import fc from 'fast-check'
import t from 'tap'
import { IndexHeap } from '../../../runtime/collections/index-heap.ts'

function heapOf(keys: readonly number[]): IndexHeap {
  const heap = new IndexHeap({ of: new Int32Array(keys.length).fill(-1) }, (a, b) => keys[a]! < keys[b]!)
  for (let item = 0; item < keys.length; item++) heap.push(item)
  return heap
}

const distinctKeys = fc.uniqueArray(fc.integer(), { maxLength: 40 })

t.test('firstWhere finds the same item as sorting and taking the first that matches', async (t) => {
  fc.assert(
    fc.property(distinctKeys, fc.integer({ min: 1, max: 5 }), (keys, divisor) => {
      const admits = (item: number) => keys[item]! % divisor === 0
      const sorted = keys.map((_, item) => item).sort((a, b) => keys[a]! - keys[b]!)
      t.equal(heapOf(keys).firstWhere(keys.length + 1, admits), sorted.find(admits) ?? -1)
    }),
  )
})

t.test(
  'firstWhere looks in order, at no more than looksMax, and returns undefined if that was not enough',
  async (t) => {
    fc.assert(
      fc.property(distinctKeys, fc.nat({ max: 40 }), (keys, looksMax) => {
        const looked: number[] = []
        const found = heapOf(keys).firstWhere(looksMax, (item) => {
          looked.push(keys[item]!)
          return false
        })
        const sorted = [...keys].sort((a, b) => a - b)
        t.strictSame(looked, sorted.slice(0, looksMax))
        t.equal(found, looksMax >= keys.length ? -1 : undefined)
      }),
    )
  },
)
