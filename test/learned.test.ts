/**
 * What earlier systems of this kind learned the hard way, by number: each failure that a control plane can have has a test
 * that is named after it (`learned 7: ...`). The others happen where repositories are touched, which this program does not do.
 */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

/** Bundles that cannot be fetched, agents that push or silence by themselves, scanners that fail, commits that strand. */
const OF_ENGINES = [13, 16, 17, 18, 19]
const ALL = 20

t.test('each of the twenty failures that can happen in a service has its test', (t) => {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
  const sources = files.map((file) => readFileSync(`test/${file}`, 'utf8'))
  const tested = new Set(
    sources.flatMap((source) => [...source.matchAll(/'learned (\d+): /g)].map(([, n]) => Number(n))),
  )
  const wanted = Array.from({ length: ALL }, (_, i) => i + 1).filter((n) => !OF_ENGINES.includes(n))
  t.strictSame(
    [...tested].toSorted((a, b) => a - b),
    wanted,
  )
  t.end()
})
