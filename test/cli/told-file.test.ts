/** The file of what somebody was told of: small changes, bounded, and whole after a crash. */
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { ToldFile } from '../../cli/told-file.ts'

const FILTER = { project: 'shop' }
const call = (n: number) => ({
  ...{ key: `k${n}`, kind: 'work_item', reason: 'failed', id: `wi_${n}`, project: 'shop' },
  ...{ since: '2030-01-07T08:00:00Z', what: 'it broke' },
})
const calls = (count: number) => Array.from({ length: count }, (_, n) => call(n))
const linesIn = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1

t.test('it says what was kept last, also to who opens it anew', (t) => {
  const file = `${t.testdir()}/told`
  const told = new ToldFile(file, FILTER)
  for (const kept of [calls(2), calls(3), [call(2)], [], calls(5)]) {
    told.keep(kept)
    t.same(
      told.told.map(({ key }) => key).sort(),
      kept.map(({ key }) => key),
    )
    t.same(new ToldFile(file, FILTER).told.length, kept.length)
  }
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.end()
})

t.test('one call more among many adds one line; nothing new adds none', (t) => {
  const file = `${t.testdir()}/told`
  new ToldFile(file, FILTER).keep(calls(3_000))
  const told = new ToldFile(file, FILTER)
  const before = statSync(file).size
  told.keep(calls(3_001))
  told.keep(calls(3_001))
  t.ok(statSync(file).size - before < 300)
  t.equal(linesIn(file), 2)
  t.end()
})

t.test('it does not grow without end', (t) => {
  const file = `${t.testdir()}/told`
  const told = new ToldFile(file, FILTER)
  for (let n = 0; n < 700; n += 1) {
    told.keep([call(n)])
    told.keep([])
  }
  t.ok(linesIn(file) <= 1_001, `${linesIn(file)} lines`)
  t.same(new ToldFile(file, FILTER).told, [])
  t.end()
})

t.test('a line that a crash has cut off is left out; any other fault refuses the file', (t) => {
  const file = `${t.testdir()}/told`
  new ToldFile(file, FILTER).keep(calls(2))
  appendFileSync(file, '{"told":{"key":"k9"')
  const told = new ToldFile(file, FILTER)
  t.equal(told.told.length, 2)
  told.keep(calls(3))
  t.equal(new ToldFile(file, FILTER).told.length, 3, 'what is added next is not lost in it')
  const whole = readFileSync(file, 'utf8')
  for (const text of [`${whole}x\n`, '', '\n', '{"version":2,"told":[]}\n']) {
    writeFileSync(file, text)
    t.throws(() => new ToldFile(file, FILTER), /is no file of attention --state/)
  }
  writeFileSync(file, whole)
  t.throws(() => new ToldFile(file, {}), /belongs to other filters/)
  t.end()
})
