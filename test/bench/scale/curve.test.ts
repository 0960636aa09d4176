import t from 'tap'
import { type Curve, growing, growthPerDecade, type Point, shapeOf } from '../../../bench/scale/curve.ts'
import { curveReport } from '../../../bench/scale/report.ts'

const sizes = [1_000, 10_000, 100_000, 1_000_000]
const points = (cost: (size: number) => number): Point[] => sizes.map((size) => ({ size, value: cost(size) }))

t.test('costs that grow with the size are distinguished from flat and logarithmic ones', async (t) => {
  t.equal(shapeOf(points(() => 50)), 'flat')
  t.equal(shapeOf(points((size) => 50 - Math.log10(size))), 'flat', 'getting cheaper is not growth')
  t.equal(shapeOf(points((size) => 20 * Math.log10(size))), 'logarithmic')
  t.equal(shapeOf(points((size) => Math.sqrt(size))), 'GROWS')
  t.equal(shapeOf(points((size) => size)), 'GROWS')
  t.equal(shapeOf(points((size) => 100 + size / 5_000)), 'GROWS', 'a small linear part shows in the last decade')
  t.equal(shapeOf(points(() => 50).slice(0, 1)), 'too few points')
})

t.test('the ratio to a service measured alongside cancels the drift of the machine', async (t) => {
  const drifting = sizes.map((size, at) => ({ size, value: 50 * (at + 1), ratio: 1.01 }))
  t.equal(shapeOf(drifting), 'flat')
  t.equal(growthPerDecade(drifting), 1)
})

t.test('a curve report shows every size with its ratio and shape, and names the growing series', async (t) => {
  const curve: Curve = {
    name: 'entities',
    title: 'Cost against entities',
    xLabel: 'entities',
    unit: 'us',
    series: [
      { name: 'a read', points: sizes.map((size) => ({ size, value: 10, ratio: 1.1, beside: { 'p99 ms': 2 } })) },
      { name: 'a scan', points: points((size) => size) },
      { name: 'a delivery', points: points((size) => size), exempt: 'one for each' },
    ],
    notes: ['A note.'],
    facts: [{ what: 'heap of each', value: 2.5, unit: 'KB' }],
  }
  const report = curveReport(curve)
  t.match(report, /\| us +\| 1k +\| 10k +\| 100k +\| 1M +\| shape/)
  t.match(report, /a read +\| 10 \(x1\.10\); p99 ms 2 /)
  t.match(report, /a scan .*GROWS, x10\.00 a decade/)
  t.match(report, /a delivery .*one for each/)
  t.match(report, /A note\.\n- heap of each: 2\.5 KB$/)
  t.same(
    growing(curve).map(({ name }) => name),
    ['a scan'],
  )
})
