import fc from 'fast-check'
import t from 'tap'
import { SweptHeap } from '../../../runtime/collections/swept-heap.ts'
import { endedEntriesMin } from '../../../runtime/limits.ts'

interface Item {
  readonly key: number
  live: boolean
}

t.test('the heap gives live entries in key order, and never an ended one', async () => {
  const change = fc.oneof(
    fc.record({ what: fc.constant('push' as const), key: fc.nat(50) }),
    fc.record({ what: fc.constant('end' as const), at: fc.nat() }),
    fc.record({ what: fc.constant('take' as const), keyMax: fc.nat(50) }),
  )
  fc.assert(
    fc.property(fc.array(change, { maxLength: 80 }), (changes) => {
      const heap = new SweptHeap<Item>()
      let live: Item[] = []
      for (const one of changes) {
        if (one.what === 'push') {
          const item = { key: one.key, live: true }
          heap.push(one.key, item)
          live.push(item)
        } else if (one.what === 'end') {
          const item = live[one.at % live.length]
          if (item === undefined) continue
          heap.end(item)
          live = live.filter((other) => other !== item)
        } else {
          const due = live.filter(({ key }) => key <= one.keyMax)
          const taken = heap.takeUpTo(one.keyMax)
          if (taken?.key !== (due.length === 0 ? undefined : Math.min(...due.map(({ key }) => key))))
            throw new Error(`took ${taken?.key}`)
          if (taken?.live === false) throw new Error('it had ended')
          live = live.filter((other) => other !== taken)
        }
        if (heap.peekKey() !== (live.length === 0 ? undefined : Math.min(...live.map(({ key }) => key))))
          throw new Error(`${heap.peekKey()} is next`)
      }
    }),
  )
})

t.test('ended entries are swept once they are the majority', async (t) => {
  const heap = new SweptHeap<Item>()
  const items = Array.from({ length: 10 * endedEntriesMin }, (_, key) => ({ key, live: true }))
  for (const item of items) heap.push(item.key, item)
  for (const item of items.slice(1, items.length / 2)) heap.end(item)
  t.equal(heap.size, items.length)
  heap.end(items.at(-1)!)
  t.equal(heap.size, items.length / 2)
  t.equal(heap.takeUpTo(items.length), items[0])
  t.equal(heap.peekKey(), items.length / 2)
})
