import fc from 'fast-check'
import t from 'tap'
import { newTurn, type Turn, Turns } from '../../../runtime/dispatch/turns.ts'

interface Project extends Turn {
  readonly key: string
}

const project = (key: string, weight = 1): Project => ({ key, ...newTurn(weight) })
const keys = (turns: Turns<Project>): string[] =>
  turns
    .chunks()
    .flat()
    .map(({ key }) => key)

/** Projects with these weights, all of which have something to offer. */
function weighted(...weights: readonly number[]): { turns: Turns<Project>; projects: Project[] } {
  const turns = new Turns<Project>()
  turns.isWeighted = true
  const projects = weights.map((weight, n) => project('abcdefgh'[n]!, weight))
  for (const one of projects) turns.join(one)
  return { turns, projects }
}

/** Serves the first in turn so many times. */
function served(turns: Turns<Project>, count: number, among: (one: Project) => boolean = () => true): string {
  let text = ''
  for (let n = 0; n < count; n++) {
    const first = turns.chunks().flat().find(among)!
    turns.served(first)
    text += first.key
  }
  return text
}

const count = (text: string, key: string): number => text.split(key).length - 1

t.test('after any moves, the list holds the listed projects sorted by turn', async () => {
  const moves = fc.array(fc.tuple(fc.constantFrom('toEnd', 'join', 'leave', 'served'), fc.integer({ min: 0, max: 7 })))
  const weights = fc.array(fc.constantFrom(1, 1, 2, 3, 100), { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(moves, weights, fc.boolean(), (given, of, isWeighted) => {
      const turns = new Turns<Project>()
      turns.isWeighted = isWeighted
      const projects = of.map((weight, key) => project(`${key}`, isWeighted ? weight : 1))
      for (const [move, key] of given) turns[move](projects[key]!)
      const sorted = projects
        .filter(({ isListed }) => isListed)
        .sort((a, b) => a.turn - b.turn || a.given - b.given)
        .map(({ key }) => key)
      t.strictSame(keys(turns), sorted)
    }),
  )
})

t.test('a served project goes to the end, even while it is not listed', async (t) => {
  const turns = new Turns<Project>()
  const [a, b, c] = [project('a'), project('b'), project('c')]
  turns.toEnd(a)
  turns.toEnd(b)
  turns.served(a)
  turns.served(c)
  t.same(keys(turns), ['b', 'a'])
  t.ok(turns.compare(a, c) < 0, 'its turn counts when it comes back')
  turns.leave(b)
  turns.leave(a)
  turns.leave(a)
  t.same(keys(turns), [])
})

t.test('without weights, a project that comes goes to the end', async (t) => {
  const turns = new Turns<Project>()
  const [a, b, c] = [project('a'), project('b'), project('c')]
  for (const one of [a, b]) turns.join(one)
  turns.served(a)
  turns.join(c)
  t.same(keys(turns), ['b', 'a', 'c'])
})

t.test('a project of weight 3 has three of four turns beside one of weight 1, and they are spread', async (t) => {
  const { turns } = weighted(3, 1)
  served(turns, 40)
  t.match(served(turns, 16), /^(a{0,3}b)(aaab){3}a*$/)
  const more = weighted(3, 1, 1, 1)
  served(more.turns, 60)
  const round = served(more.turns, 36)
  t.equal(count(round, 'a'), 18)
  t.notMatch(round, /aaa/, 'never three in a row: the others come in between')
})

t.test('with any weights, each project has its share of the turns, within some rounds of its own', async (t) => {
  const weights = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 8 })
  fc.assert(
    fc.property(weights, (of) => {
      const { turns, projects } = weighted(...of)
      const sum = of.reduce((total, weight) => total + weight, 0)
      const rounds = 20
      const text = served(turns, sum * rounds)
      for (const { key, weight } of projects) {
        const off = Math.abs(count(text, key) / weight - rounds)
        if (off > 3) throw new Error(`weight ${weight} among ${of}: ${count(text, key)} turns in ${rounds} rounds`)
      }
    }),
  )
  t.pass()
})

t.test('projects that offer one thing at a time, and come back later, have their shares', async (t) => {
  // Eight projects, each with one run at a time; two runners, so that three of four projects wait.
  const { turns, projects } = weighted(3, 3, 3, 3, 1, 1, 1, 1)
  const running: { readonly of: Project; readonly untilMs: number }[] = []
  const had = new Map<Project, number>()
  for (let nowMs = 0; nowMs < 100_000; nowMs++) {
    for (const done of running.filter(({ untilMs }) => untilMs <= nowMs)) {
      running.splice(running.indexOf(done), 1)
      turns.join(done.of)
    }
    while (running.length < 2) {
      const of = turns.first!
      turns.leave(of)
      turns.served(of)
      had.set(of, (had.get(of) ?? 0) + 1)
      running.push({ of, untilMs: nowMs + 10 + (nowMs % 7) })
    }
  }
  const shares = projects.map((one) => had.get(one)!)
  const [heavy, light] = [shares.slice(0, 4), shares.slice(4)]
  for (const one of heavy) for (const other of light) t.ok(Math.abs(one / other - 3) < 0.3, `${one} against ${other}`)
})

t.test('ever new projects keep none waiting that was there before, whatever its weight', async (t) => {
  const { turns } = weighted(1, 3)
  served(turns, 20)
  let text = ''
  for (let n = 0; n < 200; n++) {
    // Two come for each that leaves: one of them always waits.
    turns.join(project('n'))
    if (n % 20 === 0) turns.join(project('n'))
    const first = turns.first!
    if (first.key === 'n') turns.leave(first)
    turns.served(first)
    text += first.key
  }
  t.ok(count(text, 'a') > 5, text)
  t.ok(count(text, 'b') > 2 * count(text, 'a'), text)
})

t.test('a new project waits for its part of the round', async (t) => {
  const { turns } = weighted(1, 1, 1, 1)
  served(turns, 40)
  turns.join(project('x'))
  turns.join(project('y', 3))
  t.equal(served(turns, 7).replace(/[abcd]/g, '.'), '..y.y.x')
})

t.test('work that only other runners take does not disturb the shares of those that compete', async (t) => {
  const { turns, projects } = weighted(3, 1, 1)
  const [, , elsewhere] = projects
  let text = ''
  for (let n = 0; n < 80; n++) {
    for (let times = 0; times < 100; times++) turns.served(elsewhere!)
    text += served(turns, 1, (one) => one !== elsewhere)
  }
  t.equal(count(text.slice(-40), 'b'), 10)
})

t.test('a project that was idle comes back to the turn of the first, with no credit', async (t) => {
  const { turns, projects } = weighted(3, 1, 1, 1, 1, 1, 1)
  const [idle] = projects
  turns.leave(idle!)
  served(turns, 10_000)
  turns.join(idle!)
  t.ok(count(served(turns, 9), 'a') <= 4, 'one round')
})

t.test(
  'a project that was held up while it waited gets ahead by some rounds at most, and without weight by one turn',
  async (t) => {
    for (const [weight, most] of [
      [1, 1],
      [3, 20],
    ] as const) {
      const { turns, projects } = weighted(weight, 1, 1, 1, 1, 1, 1)
      served(turns, 10_000, (one) => one !== projects[0])
      const [ahead = ''] = served(turns, most + 1).match(/^a+/) ?? []
      t.ok(ahead.length <= most, `weight ${weight}`)
    }
  },
)
