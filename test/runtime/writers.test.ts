import fc from 'fast-check'
import t from 'tap'
import { Holders, namesOf } from '../../runtime/writers.ts'

t.test('a run joins those at work only if no project among them permits fewer', async () => {
  const project = fc.constantFrom('a', 'b', 'c')
  const limit = fc.integer({ min: 1, max: 4 })
  fc.assert(
    fc.property(
      fc.array(project, { maxLength: 5 }),
      project,
      fc.record({ a: limit, b: limit, c: limit }),
      (at, own, limits) => {
        const holders = new Holders<{ readonly projectId: string }>()
        const gone = [...at, 'a', 'c'].map((projectId) => ({ projectId }))
        for (const one of gone) holders.add(one)
        for (const projectId of at) holders.add({ projectId })
        for (const one of gone) holders.delete(one)
        const isOver = [...at, own].some((one) => at.length + 1 > limits[one])
        return holders.size === at.length && holders.areEnough(own, (id) => limits[id as 'a']) === isOver
      },
    ),
  )
})

t.test('a sentence names up to three holders', async (t) => {
  t.same([['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd']].map(namesOf), [
    'a',
    'a and b',
    'a, b and c',
    'a, b, c and others',
  ])
})
