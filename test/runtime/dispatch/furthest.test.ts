import t from 'tap'
import { DEPTH, furthestOf, labelled } from '../../../runtime/dispatch/furthest.ts'

const criteria = (label: string, pin?: string): any => ({
  project: { key: 'shop' },
  furtherProjects: [],
  throttle: 'full',
  access: 'full',
  labels: [label],
  pin,
})

/** Kinds of runners, a hundred of each, that differ in a label and take work; `looks`: how often a label was looked for. */
function registry(...labels: string[]) {
  const seen = { looks: 0 }
  const kinds = labels.map((label) => {
    const has = (asked: string) => {
      seen.looks++
      return asked === label
    }
    const supply = { labels: { has }, isTrusted: true, projects: undefined }
    const runner = (_: unknown, n: number) => {
      const given = { isOnline: true, state: 'registered', isGiven: true, hasRoom: true }
      return { id: `${label}-${n}`, supply, ...given }
    }
    return [supply, new Set(Array.from({ length: 100 }, runner))] as const
  })
  const find = (id: string) => kinds.flatMap(([, members]) => [...members]).find((runner) => runner.id === id)
  const fleet = { bySupply: () => kinds, isExpected: () => true, find }
  return { seen, now: { fleet, matching: { isCapable: () => true }, visible: '*' } as any }
}

t.test('what runners of a kind share is looked at once for all of them', (t) => {
  const { seen, now } = registry('gpu', 'mac')
  const names = (label: string) => {
    const { depth, count, runners } = furthestOf(criteria(label), now)
    return [depth, count, ...runners.map(({ id }) => id)]
  }
  t.strictSame(names('mac'), [DEPTH.free, 100, 'mac-0', 'mac-1', 'mac-2'])
  t.equal(seen.looks, 2)
  t.strictSame(names('arm'), [DEPTH.allowed, 200, 'gpu-0', 'gpu-1', 'gpu-2'])
  t.equal(seen.looks, 4)
  t.equal([...labelled(criteria('gpu'), now)].length, 100)
  t.end()
})

t.test('work that names its runner asks about that one alone', (t) => {
  const { now } = registry('gpu', 'mac')
  const of = (pin: string) => furthestOf(criteria('gpu', pin), now).runners.map(({ id }) => id)
  t.strictSame(of('mac-7'), ['mac-7'])
  t.strictSame(of('gone'), [])
  t.end()
})
