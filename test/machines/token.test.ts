import t from 'tap'
import { tokenDocument } from '../../machines/documents/token.ts'
import { validatePayload } from '../../machines/events/index.ts'
import type { OwnFact } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { tokenModule as module } from '../../machines/token.ts'
import { BY } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('token')

const CREATE = {
  type: 'create',
  by: BY,
  id: `tok_${'a'.repeat(24)}`,
  name: 'ci',
  hash: 'secret-hash',
  roles: ['operator'],
  projects: ['acme'],
  idempotency_key: 'key-1',
  fingerprint: 'fingerprint-1',
}
const DAY = 86_400
const M = {
  create: at(0, CREATE),
  'create (other body)': at(1, { ...CREATE, fingerprint: 'fingerprint-2' }),
  'create (a day later)': at(DAY, CREATE),
  note_use: at(2, { type: 'note_use' }),
  revoke: at(3, { type: 'revoke' }),
}
const active = after(module, [M.create])
const revoked = after(module, [M.create, M.note_use, M.revoke])

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), active, revoked }, M), 'token')
  t.end()
})

t.test('documents and facts satisfy their schemas and never show a hash', (t) => {
  for (const snapshot of [active, revoked]) {
    const document = module.document(reopened(module, snapshot))
    t.strictSame(compile(tokenDocument)(document), [])
    t.notMatch(JSON.stringify(document), 'secret-hash')
  }
  for (const { facts } of [step(module, absent(module), M.create), step(module, active, M.revoke)]) {
    for (const fact of facts) t.strictSame(validatePayload(fact.type, (fact as OwnFact).payload), [])
    t.notMatch(JSON.stringify(facts), 'secret-hash')
  }
  t.end()
})

t.test('a token covers all projects unless it is confined', (t) => {
  const { projects: _, ...open } = CREATE
  const everywhere = after(module, [at(0, open)])
  t.equal(everywhere.context.projects, '*')
  t.equal(after(module, [at(0, { ...CREATE, projects: ['*'] })]).context.projects, '*')
  t.match(module.document(everywhere), { projects: ['*'] })
  t.end()
})
