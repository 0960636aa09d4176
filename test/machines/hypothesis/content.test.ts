import t from 'tap'
import { intentRecordCreateBody } from '../../../machines/documents/intent-record.ts'
import { contentOfHypothesis } from '../../../machines/hypothesis/content.ts'
import { hypothesisModule } from '../../../machines/hypothesis.ts'
import { compile } from '../../../machines/schema.ts'
import { MESSAGES as M } from '../hypothesis-samples.ts'
import { after, at } from '../step.ts'

const check = compile(intentRecordCreateBody)

function contentOf(says: object, edits: object = {}, more: object = {}) {
  const open = { ...M.open, ...more, says: { ...M.open.says, ...says } }
  const content = contentOfHypothesis(after(hypothesisModule, [at(0, open as never)]).context, edits)
  t.strictSame(check(JSON.parse(JSON.stringify(content))), [])
  t.ok(JSON.stringify(content).isWellFormed() && !/\\ud[89a-f]/i.test(JSON.stringify(content)))
  return content
}

t.test('the title is the first of its words, on one line', (t) => {
  const title = (possible_intent: object, more: object = {}) => contentOf({ possible_intent, ...more }).title
  t.equal(title({ capability: 'c', threat: 't' }, { title: 'T' }), 'T')
  t.equal(title({ threat: 't', strategy: 's', expectation: 'e', capability: 'c' }), 'c')
  t.equal(title({ threat: 't', strategy: 's', expectation: 'e' }), 'e')
  t.equal(title({ threat: 't', strategy: 's' }), 's')
  t.equal(title({ threat: 't' }), 't')
  t.equal(title({ capability: '  ', threat: '\n first\nsecond' }), 'first')
  t.equal(title({}), 'Hypothesis sessions')
  for (const end of ['\r', '\v', '\f', '\u0085', '\u2028', '\u2029'])
    t.equal(title({ capability: `first${end}## second` }), 'first', 'whatever some reader takes for the end of a line')
  t.equal(title({ capability: 'a\u202eb\u001bc' }), 'a\\u{202e}b\\u{1b}c', 'and nothing invisible in it')
  t.equal(title({ capability: '\u{1f6e0}'.repeat(2_000) }).length, 200)
  t.end()
})

t.test('empty members are left out of the record, and the reviewer’s edits win', (t) => {
  t.notOk('threat' in contentOf({ possible_intent: { capability: 'c', threat: '' } }))
  const edits = { title: 'Mine', threat: 'mine', confidence: 1, sources: [{ source_type: 'human', source_ref: 'ann' }] }
  t.match(contentOf({}, edits), edits)
  t.end()
})

t.test('the source names the discovery and quotes what was seen, within bounds', (t) => {
  const files = Array.from({ length: 64 }, (_, n) => `src/${n}/${'x'.repeat(500)}`)
  const observed = Array.from({ length: 32 }, () => '\u{1f6e0}'.repeat(500))
  const { sources } = contentOf({ observed }, {}, { files, revision: 'r'.repeat(2_000) })
  t.match(sources, [{ source_type: 'code_observation', source_ref: /^disc_2{24}@r{100}$/ }])
  t.equal(sources![0]!.summary!.length, 1_000)
  t.end()
})
