import t from 'tap'
import { BadArguments, readArguments, usage } from '../../bench/args.ts'
import { questions } from '../../bench/questions.ts'

const known = ['limits', 'polls', 'cycles']

t.test('without names all questions are asked, in full', async (t) => {
  t.same(readArguments([], known), { names: known, quick: false, profile: false, list: false, help: false })
})

t.test('named questions are asked in the order of the list, not of the arguments', async (t) => {
  const { names, quick, profile } = readArguments(['cycles', '--quick', 'limits', '--profile'], known)
  t.same(names, ['limits', 'cycles'])
  t.ok(quick)
  t.ok(profile)
})

t.test('an unknown question or flag is refused and named', async (t) => {
  t.throws(
    () => readArguments(['cycle'], known),
    new BadArguments('no question named cycle; there are: limits, polls, cycles'),
  )
  t.throws(() => readArguments(['--fast'], known), BadArguments)
})

t.test('the usage names every question once', async (t) => {
  const text = usage('bench', questions)
  for (const { name, asks } of questions) t.match(text, new RegExp(`^ {2}${name} +${asks.slice(0, 20)}`, 'm'))
  t.equal(new Set(questions.map(({ name }) => name)).size, questions.length)
})
