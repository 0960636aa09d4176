import t from 'tap'
import { short, svg, ticks } from '../../bench/plot.ts'

t.test('axis labels are short', async (t) => {
  t.same([0.5, 12, 1_000, 20_000, 1_500_000, 2e9].map(short), ['0.5', '12', '1k', '20k', '1.5M', '2G'])
})

t.test('a logarithmic axis has labels only within its bounds', async (t) => {
  t.same(ticks(1, 1_000, [1]), [1, 10, 100, 1_000])
  t.same(ticks(3, 60, [1, 2, 5]), [5, 10, 20, 50])
  t.same(ticks(0.05, 0.2, [1, 2, 5]), [0.05, 0.1, 0.2])
})

t.test(
  'equal factors are drawn at equal distances, and values that a logarithmic axis cannot show are left out',
  async (t) => {
    const points = [
      { x: 10, y: 5 },
      { x: 100, y: 50 },
      { x: 1_000, y: 500 },
      { x: 10_000, y: 0 },
    ]
    const drawn = svg({ title: 'a < b', xLabel: 'size', yLabel: 'us', lines: [{ name: 'one', points }] })
    const [, places] = /points="([^"]*)"/.exec(drawn)!
    const [a, b, c, ...more] = places!.split(' ').map((place) => place.split(',').map(Number))
    t.same(more, [])
    t.ok(b![0]! > a![0]! && b![1]! < a![1]!)
    t.ok(Math.abs(b![0]! - a![0]! - (c![0]! - b![0]!)) < 0.2)
    t.ok(Math.abs(a![1]! - b![1]! - (b![1]! - c![1]!)) < 0.2)
    t.match(drawn, 'a &lt; b')
    t.match(drawn, />one</)
  },
)

t.test('a line with a single point is drawn', async (t) => {
  const drawn = svg({ title: '', xLabel: '', yLabel: '', lines: [{ name: 'one', points: [{ x: 1, y: 1 }] }] })
  t.notMatch(drawn, 'NaN')
  t.match(drawn, '<circle')
})
