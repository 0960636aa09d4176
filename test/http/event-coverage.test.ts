/** Every event type of the ledger, campaigns, sessions and initiatives is really recorded by some test. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { catalogue } from '../../machines/events/index.ts'
import { STATED_BY } from './to-the-letter.ts'

const SECTIONS = ['6.7', '6.8', '6.9', '6.10', '6.16', '6.17', '6.18']

t.test('each event type of SPEC 6.7 to 6.10 and 6.16 to 6.18 is assigned to the test that records it', (t) => {
  const known = [...catalogue].filter(([, { section }]) => SECTIONS.includes(section)).map(([type]) => type)
  t.strictSame(Object.values(STATED_BY).flat().toSorted(), known.toSorted())
  t.end()
})

t.test('each of these tests checks its event types in the log of a running service', (t) => {
  for (const test of Object.keys(STATED_BY)) {
    const source = readFileSync(`test/http/${test}.test.ts`, 'utf8')
    t.match(source, new RegExp(`await toTheLetter\\(t, \\w+, '${test}'\\)`), test)
  }
  t.end()
})
