import fc from 'fast-check'
import t from 'tap'
import type { RunnerRequirements } from '../../../runtime/dispatch/api.ts'
import { Lines } from '../../../runtime/scheduler/lines.ts'

const LANES = ['interactive', 'campaign', 'maintenance'] as const
/** Two of project a: they want different things of a runner, and only one may be under way at a time. */
const WANTS = ['a', 'a', 'b', 'c'].map((project) => ({ project }) as RunnerRequirements)

interface Waiting {
  readonly project: string
  readonly requirements: RunnerRequirements
  readonly lane: (typeof LANES)[number]
  readonly order: number
}

function inOrder(a: Waiting, b: Waiting): number {
  const lanes = Number(a.lane !== 'interactive') - Number(b.lane !== 'interactive')
  return lanes !== 0 ? lanes : a.order - b.order
}

const waiting = fc.record({ requirements: fc.constantFrom(...WANTS), lane: fc.constantFrom(...LANES) })

t.test('lines start the same items in the same order as a walk over all waiting items', (t) => {
  fc.assert(
    fc.property(
      fc.array(waiting, { maxLength: 40 }),
      fc.array(fc.nat({ max: 60 }), { maxLength: 20 }),
      fc.subarray(['a', 'b', 'c']),
      fc.subarray([...LANES]),
      fc.boolean(),
      (made, gone, busy, paused, isOneAtATime) => {
        const lines = new Lines<Waiting>(inOrder)
        const all = made.map((one, order) => ({ ...one, project: one.requirements.project, order }))
        for (const entry of all) lines.add(entry)
        const left = new Set<Waiting>(all)
        for (const n of gone) {
          const entry = all[n]
          // Removing an entry that has already left is allowed.
          lines.remove(entry ?? { project: 'a', requirements: WANTS[0]!, lane: 'campaign', order: -1 })
          if (entry !== undefined) left.delete(entry)
        }
        t.strictSame([...lines.open(() => true)], [...left].sort(inOrder))
        const start = (entries: (isOpen: (entry: Waiting) => boolean) => Iterable<Waiting>): number[] => {
          const taken = new Set(busy)
          const isOpen = ({ requirements, lane }: Waiting): boolean =>
            !taken.has(requirements.project) && !paused.includes(lane)
          const started: number[] = []
          for (const entry of entries(isOpen)) {
            if (!isOpen(entry)) continue
            if (isOneAtATime) taken.add(entry.requirements.project)
            started.push(entry.order)
          }
          return started
        }
        t.strictSame(
          start((isOpen) => lines.open(isOpen)),
          start(() => [...left].sort(inOrder)),
        )
      },
    ),
    { numRuns: 300 },
  )
  t.end()
})

t.test('a blocked line costs one check, however many items wait in it', (t) => {
  const lines = new Lines<Waiting>(inOrder)
  for (let order = 0; order < 1_000; order++)
    lines.add({ project: 'a', requirements: WANTS[order % 2]!, lane: 'campaign', order })
  let asked = 0
  const isOpen = ({ requirements }: Waiting): boolean => {
    asked++
    return requirements === WANTS[1]
  }
  const [first] = lines.open(isOpen)
  t.equal(first?.order, 1)
  t.equal(asked, 3, 'each line once, and the open one again before its first entry comes out')
  t.strictSame([...lines.open(() => false)], [])
  t.end()
})

t.test('counting and reading backwards give what sorting all waiting items gives', (t) => {
  const newest = (a: Waiting, b: Waiting): number => b.order - a.order
  fc.assert(
    fc.property(
      fc.array(waiting, { maxLength: 40 }),
      fc.subarray(['a', 'b', 'c']),
      fc.nat({ max: 40 }),
      (made, seen, after) => {
        const lines = new Lines<Waiting>(inOrder)
        const all = made.map((one, order) => ({ ...one, project: one.requirements.project, order }))
        for (const entry of all) lines.add(entry)
        const isIn = ({ requirements }: Waiting): boolean => seen.includes(requirements.project)
        t.equal(lines.count(isIn), all.filter(isIn).length)
        const isBehind = ({ order }: Waiting): boolean => order < after
        const expected = all.filter((entry) => isIn(entry) && isBehind(entry)).sort(newest)
        t.strictSame([...lines.back(newest, isIn, isBehind)], expected)
      },
    ),
    { numRuns: 300 },
  )
  t.end()
})

t.test(
  'the heads of the lines are their first items with their lengths, and the first items stop at the limit',
  (t) => {
    const lines = new Lines<Waiting>(inOrder)
    const made = [1, 3, 0, 1, 3, 3].map(
      (want, order): Waiting => ({ project: 'a', requirements: WANTS[want]!, lane: 'campaign', order }),
    )
    for (const entry of made.toReversed()) lines.add(entry)
    t.same([...lines.heads()].map(([{ order }, count]) => [order, count]).sort(), [
      [0, 2],
      [1, 3],
      [2, 1],
    ])
    const isOpen = ({ requirements }: Waiting): boolean => requirements !== WANTS[3]
    for (const limit of [0, 1, 2, 3, 9])
      t.same(
        lines.first(limit, isOpen).map(({ order }) => order),
        [0, 2, 3].slice(0, limit),
      )
    t.end()
  },
)

t.test('the first rows of a page are found in few checks among 10,000 waiting items', (t) => {
  const lines = new Lines<Waiting>(inOrder)
  for (let order = 0; order < 10_000; order++)
    lines.add({ project: 'a', requirements: WANTS[order % 4]!, lane: 'campaign', order })
  let asked = 0
  const isIn = (): boolean => {
    asked++
    return true
  }
  const first = <T>(from: Iterable<T>): T | undefined => {
    for (const one of from) return one
    return undefined
  }
  t.equal(first(lines.open(isIn))?.order, 0)
  const newest = (a: Waiting, b: Waiting): number => b.order - a.order
  t.equal(first(lines.back(newest, isIn, ({ order }) => order < 5_000))?.order, 4_999)
  t.ok(asked < 20, `${asked} checks`)
  t.end()
})

t.test(
  'in turn, the next is always the first open one of the project whose turn it is, interactive ones before others',
  (t) => {
    fc.assert(
      fc.property(
        fc.array(waiting, { maxLength: 40 }),
        fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 40, maxLength: 40 }),
        fc.subarray([...LANES]),
        (made, steps, paused) => {
          const lines = new Lines<Waiting>(inOrder)
          const all = made.map((one, order) => ({ ...one, project: one.requirements.project, order }))
          for (const entry of all) lines.add(entry)
          const walk = (entries: (turns: Map<string, number>) => Iterable<Waiting>): number[] => {
            const turns = new Map(['a', 'b', 'c'].map((project) => [project, 0]))
            const got: number[] = []
            for (const { project, order } of entries(turns)) {
              turns.set(project, turns.get(project)! + steps[got.length]!)
              got.push(order)
            }
            return got
          }
          const compare = (turns: Map<string, number>) => (a: string, b: string) =>
            turns.get(a)! - turns.get(b)! || (a < b ? -1 : 1)
          const isOpen = ({ lane }: Waiting) => !paused.includes(lane)
          t.strictSame(
            walk((turns) =>
              lines.openInTurn(isOpen, (projects) => (a, b) => compare(turns)(projects[a]!, projects[b]!)),
            ),
            walk(function* (turns) {
              const left = all.filter(isOpen)
              while (left.length > 0) {
                const rank = (one: Waiting) => Number(one.lane !== 'interactive')
                const before = (a: Waiting, b: Waiting) =>
                  rank(a) - rank(b) ||
                  (a.project === b.project ? a.order - b.order : compare(turns)(a.project, b.project))
                const [first] = left.sort(before) as [Waiting]
                left.shift()
                yield first
              }
            }),
          )
        },
      ),
    )
    t.end()
  },
)

t.test(
  'only projects that have open lines take turns, and as long as none has any, nobody asks for their order',
  (t) => {
    const lines = new Lines<Waiting>(inOrder)
    WANTS.forEach((requirements, order) => {
      lines.add({ project: requirements.project, requirements, lane: 'campaign', order })
    })
    const asked: (readonly string[])[] = []
    const walk = (isOpen: (entry: Waiting) => boolean) =>
      lines.openInTurn(isOpen, (projects) => {
        asked.push(projects)
        return (a, b) => a - b
      })
    t.strictSame([...walk(() => false)], [])
    t.strictSame(asked, [])
    t.strictSame(
      [...walk(({ project }) => project !== 'b')].map(({ order }) => order),
      [0, 1, 3],
    )
    t.strictSame(asked, [['a', 'c']])
    t.end()
  },
)
