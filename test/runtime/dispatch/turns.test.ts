import fc from 'fast-check'
import t from 'tap'
import { type TurnLinks, Turns } from '../../../runtime/dispatch/turns.ts'

interface Project extends TurnLinks {
  readonly key: number
}

const project = (key: number): Project => ({ key, turn: 0, before: undefined, after: undefined, isListed: false })

function listed(turns: Turns<Project>): Project[] {
  const found: Project[] = []
  for (let at = turns.first; at !== undefined; at = at.after) found.push(at)
  return found
}

t.test('after any moves, the list holds the listed projects sorted by turn', async () => {
  const moves = fc.array(fc.tuple(fc.constantFrom('toEnd', 'leave', 'served'), fc.integer({ min: 0, max: 7 })))
  fc.assert(
    fc.property(moves, (given) => {
      const turns = new Turns<Project>()
      const projects = Array.from({ length: 8 }, (_, key) => project(key))
      for (const [move, key] of given) turns[move](projects[key]!)
      const sorted = projects.filter(({ isListed }) => isListed).sort((a, b) => a.turn - b.turn)
      t.strictSame(
        listed(turns).map(({ key }) => key),
        sorted.map(({ key }) => key),
      )
    }),
  )
})

t.test('a served project goes to the end, even while it is not listed', async (t) => {
  const turns = new Turns<Project>()
  const [a, b, c] = [project(1), project(2), project(3)]
  turns.toEnd(a)
  turns.toEnd(b)
  turns.served(a)
  turns.served(c)
  t.same(
    listed(turns).map(({ key }) => key),
    [2, 1],
  )
  t.ok(c.turn > a.turn, 'its turn counts when it comes back')
  turns.leave(b)
  turns.leave(a)
  turns.leave(a)
  t.same(listed(turns), [])
})
