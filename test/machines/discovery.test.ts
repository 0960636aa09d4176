import t from 'tap'
import { discoverySummary, discoveryModule as module } from '../../machines/discovery.ts'
import { discoveryDocument, discoverySummaryDocument } from '../../machines/documents/discovery.ts'
import type { Message } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { DISCOVER, HYPOTHESIS } from './hypothesis-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('discovery')

const keyed = { ...DISCOVER, idempotency_key: 'key-1' }
const M: Record<string, Message<any>> = {
  create: at(0, DISCOVER),
  'create (a day later)': at(100_000, DISCOVER),
  'create (other body)': at(1, { ...DISCOVER, fingerprint: 'fingerprint-2' }),
  'create (with a key)': at(1, keyed),
  'create (with a key, other body)': at(2, { ...keyed, fingerprint: 'fingerprint-2' }),
  'create (with a key, a day later)': at(100_000, keyed),
}
const recorded = after(module, [M.create!])
const recordedUnderKey = after(module, [M['create (with a key)']!])

t.test('every message in every state has the outcome that the table shows', (t) => {
  const states = { absent: absent(module), recorded, 'recorded (under a key)': recordedUnderKey }
  t.matchSnapshot(table(module, states, M), 'discovery')
  t.end()
})

t.test(
  'a discovery’s words are served labelled as untrusted, and its hypotheses are opened with the files behind them',
  (t) => {
    const document = JSON.parse(JSON.stringify(module.document(reopened(module, recorded))))
    t.strictSame(compile(discoveryDocument)(document), [])
    t.match(document, { untrusted: true, observations: DISCOVER.observations, hypotheses: DISCOVER.hypotheses })
    const summary = JSON.parse(JSON.stringify(discoverySummary(recorded)))
    t.strictSame(compile(discoverySummaryDocument)(summary), [])
    t.match(summary, { untrusted: true, observation_count: 2, hypothesis_ids: [HYPOTHESIS] })
    const { facts, sends } = step(module, absent(module), M.create!)
    t.match(facts, [
      { type: 'discovery_recorded', payload: { hypothesis_ids: [HYPOTHESIS], observations: 2, revision: 'abc123' } },
    ])
    t.notMatch(JSON.stringify(facts), /Redis|Ignore/, 'the log does not carry a repository’s words')
    t.match(sends, [
      {
        to: { kind: 'hypothesis', id: HYPOTHESIS },
        message: { type: 'open', discovery_id: DISCOVER.id, files: ['src/auth/store.ts', 'src/auth/redis.ts'] },
      },
    ])
    t.end()
  },
)
