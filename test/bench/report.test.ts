import t from 'tap'
import type { Finding } from '../../bench/question.ts'
import { verdict } from '../../bench/question.ts'
import { number, table } from '../../bench/report.ts'
import { median, medianOfRatios, quantile } from '../../bench/statistics.ts'

const bar = { row: 1, floor: 0.55, goal: 0.75 }
const finding: Finding = {
  measure: 'empty polls',
  value: 90_000,
  unit: 'polls/s',
  limit: { what: 'bare 204', value: 150_000 },
  ratio: 0.6,
  better: 'higher',
  bar,
  note: 'server busy 99 %',
}

t.test('a finding is judged against floor and goal by its ratio, in the direction that is better', async (t) => {
  t.equal(verdict(finding), 'floor')
  t.equal(verdict({ ...finding, ratio: 0.75 }), 'goal')
  t.equal(verdict({ ...finding, ratio: 0.54 }), 'BELOW')
  t.equal(
    verdict({ measure: 'latency', value: 4, unit: 'ms', better: 'lower', bar: { row: 10, floor: 20, goal: 5 } }),
    'goal',
  )
  t.equal(
    verdict({ measure: 'latency', value: 21, unit: 'ms', better: 'lower', bar: { row: 10, floor: 20, goal: 5 } }),
    'BELOW',
  )
  t.equal(verdict({ measure: 'a limit', value: 1, unit: 'x' }), '')
  t.equal(verdict({ ...finding, ratio: Number.NaN }), 'BELOW', 'a missing measurement reaches nothing')
})

t.test('the table shows value, limit, ratio, floor, goal and verdict on one line, and the note below', async (t) => {
  const lines = table([finding]).split('\n')
  t.match(lines[2], /^empty polls +90,000 polls\/s +150,000 bare 204 +0\.6 +0\.55 +0\.75 +floor$/)
  t.equal(lines[3], '    server busy 99 %')
})

t.test('numbers are printed with three digits', async (t) => {
  t.same([12_345.6, 2.71428, 0.00451, Number.NaN].map(number), ['12,346', '2.71', '0.00451', '-'])
})

t.test('a comparison is the median of the ratios per round, not the ratio of medians', async (t) => {
  t.equal(medianOfRatios([10, 1, 4], [20, 1, 2]), 1)
  t.equal(median([3, 1, 2, 10]), 2.5)
  t.equal(quantile([5, 1, 4, 2, 3], 0.5), 3)
  t.equal(quantile([1, 2, 3, 4], 0.99), 4)
  t.throws(() => medianOfRatios([1], [1, 2]), RangeError)
})
