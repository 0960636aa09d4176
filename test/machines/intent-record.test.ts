import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { intentRecordDocument, RELATIONSHIPS_MAX } from '../../machines/documents/intent-record.ts'
import type { IntentRecordContext } from '../../machines/intent-record/context.ts'
import { intentRecordMachine, intentRecordModule as module } from '../../machines/intent-record.ts'
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { CONTENT, E1, E2, HYPOTHESIS, MESSAGES as M, OTHER, RECORD, states } from './intent-record-samples.ts'
import { BY } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('intent-record')

const run = (...messages: Message<any>[]): SnapshotOf<IntentRecordContext> => after(module, messages)
const TERMINAL = ['contradicted', 'superseded']

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), ...states() }, M), 'intent record')
  t.end()
})

t.test('every state can be reached by messages, and all but the terminal ones can be left', (t) => {
  const paths = getShortestPaths(intentRecordMachine, {
    events: Object.values(M) as never,
    serializeState: (snapshot) => String(snapshot.value),
  })
  const reached = paths.map(({ state }) => String(state.value))
  t.strictSame([...new Set(reached)].sort(), Object.keys(intentRecordMachine.states).sort())
  for (const { state } of paths) {
    const next = Object.values(M).map((message) => step(module, state as never, message).snapshot.value)
    const leaves = next.some((value) => value !== state.value)
    t.equal(leaves, !TERMINAL.includes(String(state.value)), String(state.value))
  }
  t.end()
})

t.test('in every state the document satisfies its schema, also after a restart', (t) => {
  const check = compile(intentRecordDocument)
  for (const [name, snapshot] of Object.entries(states())) {
    const document = module.document(reopened(module, snapshot))
    t.strictSame(check(JSON.parse(JSON.stringify(document))), [], name)
    t.strictSame(JSON.parse(JSON.stringify(module.document(snapshot))), JSON.parse(JSON.stringify(document)), name)
  }
  t.end()
})

t.test('a record is created with ids for its evidence, and its sources say what may be untrusted', (t) => {
  const document = module.document(run(M.create)) as any
  t.match(document, {
    id: RECORD,
    key: 'acme.intent.sessions-survive',
    state: 'proposed',
    version: 1,
    confidence: 1,
    created_by: BY,
    evidence: [
      { id: E1, required: true },
      { id: E2, required: false },
    ],
    sources: [{ source_type: 'code_observation', untrusted: true }],
  })
  const human = { ...M.create, content: { ...CONTENT, sources: [{ source_type: 'human', source_ref: 'ann' }] } }
  t.match(module.document(run(human)), { sources: [{ untrusted: false }] })
  t.end()
})

t.test('a change makes a new version, says what changed, and never reuses an evidence id', (t) => {
  const before = run(M.create)
  const patch = {
    threat: null,
    scope: { paths: ['src'] },
    evidence: [{ description: 'a new one' }, { id: E2, description: 'no session map in memory', required: true }],
  }
  const first = step(module, before, at(20, { type: 'update', patch, if_version: 1, may_rewrite: false, by: BY }))
  t.match(first.facts, [
    {
      type: 'intent_record_updated',
      payload: {
        version: 2,
        changed: ['scope', 'evidence', 'threat'],
        values: { threat: null, scope: { paths: ['src'] } },
      },
    },
  ])
  const { content, version } = first.snapshot.context
  t.equal(version, 2)
  t.notOk('threat' in content)
  t.strictSame(
    content.evidence.map(({ id, required }: any) => [id, required]),
    [
      [`${RECORD}.e3`, true],
      [E2, true],
    ],
  )
  const emptied = step(
    module,
    first.snapshot,
    at(21, { type: 'update', patch: { evidence: [] }, if_version: 2, may_rewrite: false }),
  )
  const again = at(22, {
    type: 'update',
    patch: { evidence: [{ description: 'once more' }] },
    if_version: 3,
    may_rewrite: false,
  })
  t.equal(step(module, emptied.snapshot, again).snapshot.context.content.evidence[0].id, `${RECORD}.e4`)
  const out = { scope: { paths: ['src', 'a/../..'] } }
  t.equal(step(module, before, at(20, { type: 'update', patch: out, may_rewrite: true })).refused, 'invalid_body')
  const twice = { evidence: [E1, E1].map((id) => ({ id, description: 'x' })) }
  t.equal(step(module, before, at(20, { type: 'update', patch: twice, may_rewrite: true })).refused, 'invalid_body')
  t.end()
})

t.test('without the right to rewrite accepted content, other content may still be changed', (t) => {
  const message = at(20, { type: 'update', patch: { title: 'Other' }, if_version: 1, may_rewrite: false })
  for (const [name, snapshot] of Object.entries(states())) {
    const { refused } = step(module, snapshot, message)
    const isOpen = ['hypothesized', 'proposed'].includes(name)
    const isGuiding = ['accepted', 'active'].includes(snapshot.value)
    t.equal(refused, isOpen ? undefined : isGuiding ? 'forbidden' : 'illegal_move', name)
  }
  t.end()
})

t.test('superseding is decided by the old record, which tells the new one, and a repeat changes nothing', (t) => {
  const old = step(module, run(M.create, M.accept), M.supersede)
  t.match(old.facts, [{ type: 'intent_record_superseded', payload: { superseded_by: OTHER, reason: 'said better' } }])
  t.match(old.sends, [{ to: { kind: 'intent_record', id: OTHER }, message: { type: 'take_place', of: RECORD } }])
  t.equal(step(module, old.snapshot, M.supersede).repeat, 'already_superseded')
  t.equal(
    step(module, old.snapshot, M['supersede (by what is gone)']).repeat,
    'already_superseded',
    'it was not at that time',
  )
  for (const replacement_state of ['contradicted', 'superseded'])
    t.equal(step(module, run(M.create), { ...M.supersede, replacement_state }).refused, 'illegal_move')
  t.equal(step(module, run(M.create), { ...M.supersede, replacement_state: 'deprecated' }).snapshot.value, 'superseded')
  const other = { ...M.supersede, replacement: `ir_${'e'.repeat(24)}` }
  t.equal(step(module, old.snapshot, other).refused, 'illegal_move')
  const heir = step(module, run(M.create), M.take_place)
  t.match(heir.facts, [{ type: 'intent_record_related', payload: { relationship: 'supersedes', to: OTHER } }])
  t.strictSame((module.document(heir.snapshot) as any).supersedes, [OTHER])
  t.equal(step(module, heir.snapshot, M.take_place).repeat, 'already_taken')
  t.end()
})

t.test(
  'a taken slug is reported to the hypothesis that wants it, unless the record was made of that hypothesis',
  (t) => {
    const theirs = step(module, run(M.create), M.make)
    t.match(theirs.sends, [
      { to: { kind: 'hypothesis', id: HYPOTHESIS }, message: { type: 'slug_taken', slug: 'sessions-survive' } },
    ])
    t.equal(theirs.snapshot.value, 'proposed')
    const own = run(M.make)
    t.equal(step(module, own, M.make).repeat, 'replay')
    t.match(module.document(own), { state: 'accepted', hypothesis_id: HYPOTHESIS })
    t.strictSame(
      step(module, absent(module), M.make).facts.map(({ type }) => type),
      ['intent_record_created', 'intent_record_accepted', 'intent_record_drift_changed'],
    )
    t.end()
  },
)

t.test('a record has a bounded number of relationships', (t) => {
  let snapshot = run(M.create)
  for (let n = 0; n < RELATIONSHIPS_MAX; n++) {
    const to = `ir_${String(n).padStart(24, '0')}`
    snapshot = step(module, snapshot, { ...M.relate, to }).snapshot
  }
  t.equal(step(module, snapshot, M.relate).refused, 'illegal_move')
  const fewer = step(module, snapshot, M.unrelate).snapshot
  t.match(step(module, fewer, M.relate).snapshot.context.relationships.at(-1), {
    id: `${RECORD}.r${RELATIONSHIPS_MAX + 1}`,
  })
  t.end()
})

t.test('a record is listed by project, state and once by each place of its scope', (t) => {
  const of = (snapshot: SnapshotOf<any>, index: string) =>
    module.terms(snapshot).flatMap((term) => (term.index === index ? [term.value] : []))
  const accepted = run(M.create, M.accept)
  t.strictSame(of(accepted, 'project'), ['acme'])
  t.strictSame(of(accepted, 'state'), ['acme/accepted'])
  t.strictSame(of(accepted, 'path'), ['acme/src/auth', 'acme/src/session.ts'])
  t.strictSame(of(accepted, 'drift'), ['acme/unobserved'])
  t.strictSame(of(run(M.create), 'drift'), [], 'a record that guides nothing has no drift')
  t.strictSame(of(run(M.create, M.accept, M.deprecate), 'drift'), [])
  const doubled = { ...M.create, content: { ...CONTENT, scope: { paths: ['src/auth/', './src/auth', '.'] } } }
  t.strictSame(of(run(doubled), 'path'), ['acme/src/auth', 'acme/.'])
  const above = {
    ...M.create,
    content: { ...CONTENT, scope: { paths: ['lib/../etc', 'etc', 'a/..', '../x', 'a/../../x'] } },
  }
  t.strictSame(
    of(run(above), 'path'),
    ['acme/etc', 'acme/.'],
    'an older record may point outside the repository: listed by no place',
  )
  t.end()
})
