import { createHash } from 'node:crypto'
import t from 'tap'
import { formationBriefDocument } from '../../machines/documents/formation-brief.ts'
import { validatePayload } from '../../machines/events/index.ts'
import { formationBriefModule as module } from '../../machines/formation-brief.ts'
import type { OwnFact } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { BY } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('formation-brief')

const CREATE = {
  type: 'create',
  by: BY,
  id: `brief_${'a'.repeat(24)}`,
  project: 'acme',
  project_id: `proj_${'b'.repeat(24)}`,
  sections: { mission: { objective: 'tidy up', stop_conditions: ['a gate fails twice'] }, tradeoffs: ['speed'] },
}
const M = {
  create: at(0, { ...CREATE, idempotency_key: 'key-1', fingerprint: 'fingerprint-1' }),
  'create (other body)': at(1, { ...CREATE, idempotency_key: 'key-1', fingerprint: 'fingerprint-2' }),
  'create (no key)': at(1, CREATE),
}
const draft = after(module, [M.create])

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), draft }, M), 'formation brief')
  t.end()
})

t.test('the digest is that of the canonical JSON of the sections, whatever the order they were given in', (t) => {
  const text =
    '{"mission":{"objective":"tidy up","stop_conditions":["a gate fails twice"]},"throttle":"dry_run","tradeoffs":["speed"]}'
  t.equal(draft.context.digest, `sha256:${createHash('sha256').update(text).digest('hex')}`)
  const { mission, tradeoffs } = CREATE.sections
  const other = after(module, [at(0, { ...CREATE, sections: { throttle: 'dry_run', tradeoffs, mission } })])
  t.equal(other.context.digest, draft.context.digest)
  const full = after(module, [at(0, { ...CREATE, sections: { ...CREATE.sections, throttle: 'full' } })])
  t.not(full.context.digest, draft.context.digest)
  t.end()
})

t.test('document and facts satisfy their schemas', (t) => {
  t.strictSame(compile(formationBriefDocument)(module.document(reopened(module, draft))), [])
  for (const fact of step(module, absent(module), M.create).facts) {
    t.strictSame(validatePayload(fact.type, (fact as OwnFact).payload), [])
  }
  t.end()
})
