import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { compiledBriefDocument } from '../../machines/documents/compiled-brief.ts'
import { formationBriefDocument } from '../../machines/documents/formation-brief.ts'
import { lapseOf } from '../../machines/formation-brief/approvals.ts'
import { compiledBriefModule } from '../../machines/formation-brief/compiled.ts'
import { intentDigest } from '../../machines/formation-brief/compiler.ts'
import { formationBriefMachine, formationBriefModule as module } from '../../machines/formation-brief.ts'
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import type { Messages } from '../../machines/messages.ts'
import { compile } from '../../machines/schema.ts'
import {
  ARTIFACT,
  artifactOf,
  COMPILED,
  CREATE,
  GONE,
  MESSAGES as M,
  MOVED,
  OTHER,
  OTHER_RUN,
  RECORD,
  RUN,
  SOURCES,
  states,
} from './formation-brief-samples.ts'
import { BY } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('formation-brief')

const S = states()
const whyNot = (snapshot: SnapshotOf<any>, message: Message<any>) => module.refusal(snapshot, message)

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), ...S }, M), 'formation brief')
  t.end()
})

t.test('every state can be reached by messages, and only an archived brief is never left', (t) => {
  const paths = getShortestPaths(formationBriefMachine, {
    events: Object.values(M) as never,
    serializeState: (snapshot) => String(snapshot.value),
  })
  const reached = paths.map(({ state }) => String(state.value))
  t.strictSame([...new Set(reached)].sort(), Object.keys(formationBriefMachine.states).sort())
  for (const { state } of paths) {
    const next = Object.values(M).map((message) => step(module, state as never, message).snapshot.value)
    t.equal(
      next.some((value) => value !== state.value),
      state.value !== 'archived',
      String(state.value),
    )
  }
  t.end()
})

t.test('documents satisfy their schemas, also for snapshots reopened from the log', (t) => {
  const check = compile(formationBriefDocument)
  for (const [state, snapshot] of Object.entries(S)) {
    const document = JSON.parse(JSON.stringify(module.document(reopened(module, snapshot))))
    t.strictSame(check(document), [], state)
    t.equal(document.digest, snapshot.context.compiled?.digest, `${state}: the digest is that of the compiled artifact`)
  }
  const [sent] = step(module, S.approved!, M.compile).sends
  const frozen = after(compiledBriefModule, [at(5, sent!.message as { type: string })])
  t.strictSame(compile(compiledBriefDocument)(compiledBriefModule.document(reopened(compiledBriefModule, frozen))), [])
  t.end()
})

t.test('compile freezes exactly what was approved, and is refused when anything has moved', (t) => {
  t.equal(S.approved!.context.approvals[0].digest, ARTIFACT.digest)
  t.equal(COMPILED.context.compiled.digest, ARTIFACT.digest)
  for (const [label, code] of [
    ['compile (moved intent)', 'reapproval_required'],
    ['compile (other revision)', 'reapproval_required'],
    ['compile (record gone)', 'brief_incomplete'],
    ['compile (incapable)', 'engine_incapable'],
  ] as const) {
    t.equal(step(module, S.approved!, M[label]).refused, code, label)
  }
  const again = step(module, S.approved!, M['approve (moved intent)']).snapshot
  t.equal(step(module, again, M['compile (moved intent)']).snapshot.value, 'compiled', 'a new approval covers it')
  t.equal(step(module, again, M.compile).snapshot.value, 'compiled', 'the older one still covers what it named')
  const pinned = after(module, [M.create, M.submit, M['approve (other revision)']])
  const compiled = step(module, pinned, M.compile).snapshot
  t.equal(compiled.context.compiled.revision, 'r2', 'the revision is that of the newest approval')
  t.end()
})

t.test('a brief that could not be compiled is not approved, since nobody could mend it afterwards', (t) => {
  const incomplete = {
    '/mission': { mission: { objective: 'tidy up' }, protected_capabilities: [{ statement: 'x' }] },
    '/protected_capabilities': { protected_capabilities: [] },
    '/protected_capabilities/1': { protected_capabilities: [{ id: RECORD.id }, { severity: 'high', statement: ' ' }] },
    '/mission/design_intent_refs/0': {
      mission: { ...CREATE.sections.mission, design_intent_refs: ['ir_44b39828', 'other', 'irrelevant'] },
    },
    '/mission/design_intent_refs/1': {
      mission: { ...CREATE.sections.mission, design_intent_refs: ['other', `${RECORD.id}0`, `ir_${'A'.repeat(24)}`] },
    },
    '/protected_capabilities/0/id': { protected_capabilities: [{ id: 'ir_44b39828', statement: 'x' }] },
    '/protected_capabilities/1/id': { protected_capabilities: [{ id: RECORD.id }, { id: 'other.intent.receipts' }] },
    '/evidence_plan': { evidence_plan: { required: [' \n'], suggested: [''] } },
    '/mission/product_intent_refs/0': {
      mission: {
        ...CREATE.sections.mission,
        product_intent_refs: ['other.intent.receipts', 'PROD-12', 'https://x/y.intent.z'],
      },
    },
  }
  for (const [pointer, more] of Object.entries(incomplete)) {
    const created = at(0, { ...CREATE, sections: { ...CREATE.sections, ...more } })
    const reviewable = after(module, [created, M.submit])
    t.equal(step(module, reviewable, M.approve).refused, 'brief_incomplete', pointer)
    t.match(whyNot(reviewable, M.approve)?.errors, [{ pointer }])
    t.match(module.document(reviewable), { missing: [{ pointer }] }, 'and the document says so before')
    // An earlier version approved it.
    const approved = { ...reviewable, value: 'approved' }
    t.equal(step(module, approved, M.compile).refused, 'brief_incomplete', pointer)
    t.match(whyNot(approved, M.compile)?.errors, [{ pointer }])
  }
  const gone = whyNot(S.approved!, M['compile (record gone)'])
  t.match(gone?.errors, [
    { pointer: '/mission/engineering_intent_refs/0', detail: /is deprecated/ },
    { pointer: '/protected_capabilities/0/id', detail: /is deprecated/ },
  ])
  const large = Array.from({ length: 256 }, () => 'x'.repeat(4_000))
  const created = at(0, { ...CREATE, sections: { ...CREATE.sections, forbidden_moves: large } })
  t.match(whyNot(after(module, [created, M.submit]), M.approve), { code: 'brief_incomplete', detail: /too large/ })
  t.end()
})

t.test('a compiled brief whose intent no longer guides runs is not approved again', (t) => {
  const gone = M['approve (record gone)']
  t.match(whyNot(COMPILED, gone), {
    code: 'brief_incomplete',
    detail: /is deprecated.*archive the brief, and write another/,
    errors: [{ pointer: '/mission/engineering_intent_refs/0' }, { pointer: '/protected_capabilities/0/id' }],
  })
  // An earlier version accepted it: this is no repeat of that.
  const approvals = [
    ...COMPILED.context.approvals,
    { ...COMPILED.context.approvals[0], intent_digest: intentDigest(GONE) },
  ]
  const taken = { ...COMPILED, context: { ...COMPILED.context, approvals } }
  t.equal(step(module, taken, gone).refused, 'brief_incomplete')
  t.match(lapseOf(taken.context, GONE), { code: 'brief_incomplete', detail: /is deprecated/ }, 'nor does it hold')
  t.end()
})

t.test('the reason why no approval holds names what has moved', (t) => {
  const since = { [RECORD.id]: '2026-09-01T00:00:00.000000Z' }
  const moved = { ...MOVED, since }
  const named = new RegExp(`${RECORD.key} has been at version 4 since 2026-09-01`)
  t.equal(lapseOf(COMPILED.context, SOURCES), undefined)
  t.match(lapseOf(COMPILED.context, moved), { code: 'reapproval_required', detail: named, since: since[RECORD.id] })
  t.match(whyNot(S.approved!, { ...M['compile (moved intent)'], sources: moved })?.detail, named)
  t.match(lapseOf(COMPILED.context, SOURCES, 'r9')?.detail, /approved for revision r1: approve it again at r9/)
  t.match(whyNot(S.approved!, M['compile (other revision)'])?.detail, /approve it again at /)
  t.match(lapseOf(S.approved!.context, GONE), { code: 'brief_incomplete' })
  const edited = step(module, COMPILED, M.edit_prompt).snapshot
  t.match(lapseOf(edited.context, SOURCES)?.detail, /prompts were edited/)
  t.end()
})

t.test('editing a prompt makes a new artifact that no approval covers', (t) => {
  const { snapshot, sends, facts } = step(module, COMPILED, M.edit_prompt)
  const { digest, prompt_pack_digest, edited } = snapshot.context.compiled
  t.not(digest, ARTIFACT.digest)
  t.not(prompt_pack_digest, ARTIFACT.prompt_pack.digest)
  t.equal(edited, true)
  t.match(facts, [
    { type: 'prompt_pack_edited', payload: { phase: 'execution', previous_digest: ARTIFACT.prompt_pack.digest } },
    { type: 'formation_brief_compiled', payload: { digest, state: 'compiled' } },
  ])
  const { prompt_pack: pack } = sends[0]!.message as Extract<Messages['compiled_brief'], { type: 'create' }>
  t.match(pack.human_edits, [{ phase: 'execution', by: BY, previous_digest: ARTIFACT.prompt_pack.digest }])
  t.equal(pack.prompts.find(({ phase }) => phase === 'execution')!.prompt_text, 'Do it well.')
  t.strictSame(
    pack.prompts.filter((one) => !one.edited),
    ARTIFACT.prompt_pack.prompts.filter(({ phase }) => phase !== 'execution'),
    'the other prompts are unchanged',
  )
  t.equal(
    snapshot.context.approvals.some((one: any) => one.digest === digest),
    false,
  )
  const approved = step(module, snapshot, at(9, { ...M.approve, at: undefined })).snapshot
  t.equal(approved.context.approvals.at(-1).digest, digest, 'until somebody approves it')
  t.end()
})

t.test('a full approval releases the waiting run that it covers, and no other', (t) => {
  const full = M['approve (full)']
  t.match(step(module, S.queued!, full).sends, [
    { to: { kind: 'run_request', id: RUN }, message: { type: 'approve', by: BY } },
  ])
  t.equal(step(module, S.queued!, M['approve (by another)']).sends.length, 0, 'dry_run is not full')
  t.equal(step(module, S.queued!, at(9, { ...full, revision: 'r2' })).sends.length, 0, 'another revision')
  t.equal(step(module, S.accepted!, full).sends.length, 0, 'it no longer waits')
  for (const more of [
    { approved: true },
    { retries: true },
    { entry_event: 'release_requested' },
    { elsewhere: true },
    { again: true },
  ]) {
    const queued = step(module, COMPILED, at(10, { ...M.run_queued, ...more })).snapshot
    t.equal(step(module, queued, full).sends.length, 0, JSON.stringify(more))
  }
  t.end()
})

t.test('a repeated approval releases a run that began to wait after the first one', (t) => {
  const full = { ...M['approve (full)'], at: undefined }
  const approved = step(module, COMPILED, at(9, full)).snapshot
  t.equal(step(module, approved, at(20, full)).repeat, 'already_approved', 'nobody waits for it')
  const waits = step(module, approved, M.run_queued).snapshot
  const { sends, snapshot } = step(module, waits, at(20, full))
  t.match(sends, [{ to: { kind: 'run_request', id: RUN }, message: { type: 'approve', by: BY } }])
  t.equal(step(module, snapshot, at(21, full)).repeat, 'already_approved', 'a second repeat changes nothing')
  t.equal(
    step(module, waits, at(20, { ...full, throttle: 'dry_run' })).repeat,
    'already_approved',
    'dry_run is not full',
  )
  t.end()
})

t.test('a brief follows its latest run, and its reason says why it is back', (t) => {
  const lost = step(module, S.executing!, M['run_stopped (lost)']).snapshot
  t.match(module.document(lost), { state: 'compiled', reason: 'the run was lost: its runner fell silent' })
  t.equal(step(module, lost, M.run_started).snapshot.value, 'executing', 'a lost run reports again')
  const failed = step(module, S.queued!, M['run_stopped (failed)']).snapshot
  t.match(module.document(failed), { state: 'compiled', run: { state: 'failed', reason: 'tests failed' } })
  const next = step(module, failed, M['run_queued (later run)']).snapshot
  t.match(module.document(next), { state: 'queued', run: { run_request_id: OTHER_RUN } })
  t.notOk('reason' in module.document(next))
  t.equal(step(module, next, M.run_started).repeat, 'no_news', 'the older run, which has ended, is no longer heard')
  t.end()
})

const later = (message: Message<any>, n = OTHER_RUN) => ({ ...message, run_request_id: n })

t.test('an approval releases every run that waits for it', (t) => {
  const full = M['approve (full)']
  const both = step(module, S.queued!, M['run_queued (later run)']).snapshot
  const { sends, snapshot } = step(module, both, full)
  t.strictSame(
    sends.map(({ to, message }) => [to.id, message.type]),
    [
      [RUN, 'approve'],
      [OTHER_RUN, 'approve'],
    ],
  )
  t.equal(step(module, snapshot, at(9, { ...full, by: OTHER })).sends.length, 0, 'they wait no longer')
  const dry = step(module, S.queued!, at(30, { ...M['run_queued (later run)'], throttle: 'dry_run', approved: true }))
  t.match(step(module, dry.snapshot, full).sends, [{ to: { id: RUN } }], 'also behind one that does not wait')
  const cancelled = step(module, both, later(M['run_stopped (failed)'])).snapshot
  t.match(step(module, cancelled, full).sends, [{ to: { id: RUN } }], 'and after that one has ended')
  t.end()
})

t.test('a run of which the brief hears after an approval is released if it was requested before that approval', (t) => {
  const approved = step(module, COMPILED, at(20, { ...M['approve (full)'], at: undefined })).snapshot
  t.match(step(module, approved, M.run_queued).sends, [{ to: { kind: 'run_request', id: RUN } }])
  t.equal(step(module, approved, M['run_queued (later run)']).sends.length, 0, 'a run requested later needs its own')
  t.end()
})

t.test('a brief follows the latest of its runs that is under way', (t) => {
  const both = step(module, S.executing!, M['run_queued (later run)']).snapshot
  t.match(module.document(both), { state: 'queued', run: { run_request_id: OTHER_RUN } })
  t.equal(step(module, both, M.run_started).snapshot.value, 'queued', 'whatever happens to the earlier one meanwhile')

  const { snapshot: back, facts } = step(module, both, later(M['run_stopped (failed)']))
  t.match(module.document(back), { state: 'executing', run: { run_request_id: RUN, state: 'started' } })
  t.notOk('reason' in module.document(back))
  t.match(facts, [
    { payload: { state: 'compiled', run_request_id: OTHER_RUN, reason: /tests failed/ } },
    { payload: { state: 'executing', run_request_id: RUN } },
  ])
  t.equal(step(module, back, M.archive).refused, 'illegal_move')
  t.equal(step(module, back, M.run_observed).snapshot.context.run.observations, 1)
  t.match(module.document(step(module, back, M.run_completed).snapshot), {
    state: 'completed',
    run: { run_request_id: RUN },
  })

  const completed = step(module, both, later(M.run_completed))
  t.equal(completed.snapshot.value, 'executing')
  t.match(completed.facts, [{ payload: { state: 'completed' } }, { payload: { state: 'executing' } }])
  const over = step(module, both, M['run_stopped (failed)'])
  t.strictSame([over.snapshot.value, over.facts.length], ['queued', 0], 'an earlier run that fails changes nothing')
  t.equal(step(module, over.snapshot, later(M['run_stopped (failed)'])).snapshot.value, 'compiled')
  t.end()
})

t.test('a lost run is followed again when it reports or is requeued', (t) => {
  const lost = step(module, S.executing!, M['run_stopped (lost)']).snapshot
  const done = step(module, step(module, lost, M['run_queued (later run)']).snapshot, later(M.run_completed)).snapshot
  t.match(module.document(done), { state: 'completed', run: { run_request_id: OTHER_RUN } })
  t.equal(step(module, done, M.run_started).snapshot.value, 'executing')
  const again = step(module, done, at(40, { ...M.run_queued, reason: 'attempt 2 waits', at: undefined })).snapshot
  t.match(module.document(again), { state: 'queued', run: { run_request_id: RUN, reason: 'attempt 2 waits' } })
  const failed = step(module, done, M['run_stopped (failed)'])
  t.strictSame([failed.snapshot.value, failed.facts.length], ['completed', 0], 'one that was given up is not')
  t.end()
})

t.test(
  'a brief is archived only after all its runs have ended, and its prompts are not edited while one is under way',
  (t) => {
    const both = step(module, S.executing!, M['run_queued (later run)']).snapshot
    t.match(whyNot(both, M.archive), {
      code: 'illegal_move',
      detail: `(${RUN} is started, ${OTHER_RUN} waits for an approval): it can be archived only once they have`,
    })
    t.match(whyNot(both, M.edit_prompt)?.detail, /: its prompts can be replaced only once they have/)
    const one = step(module, both, later(M['run_stopped (failed)'])).snapshot
    t.equal(step(module, one, M.archive).refused, 'illegal_move')
    t.equal(step(module, one, M.edit_prompt).refused, 'illegal_move')
    const lost = step(module, one, M['run_stopped (lost)']).snapshot
    t.equal(lost.value, 'compiled')
    t.equal(step(module, lost, M.archive).refused, 'illegal_move', 'a lost run may report again')
    t.equal(step(module, lost, M.edit_prompt).snapshot.value, 'compiled', 'but may be run again with other prompts')
    const over = step(module, lost, M['run_stopped (failed)']).snapshot
    t.equal(step(module, over, M.archive).snapshot.value, 'archived')
    t.end()
  },
)

t.test('a run requested just as its brief is archived is cancelled', (t) => {
  const archived = step(module, COMPILED, M.archive).snapshot
  const { snapshot, sends } = step(module, archived, M.run_queued)
  t.equal(snapshot.value, 'archived')
  t.match(sends, [
    { to: { kind: 'run_request', id: RUN }, message: { type: 'cancel', reason: 'its brief is archived' } },
  ])
  t.equal(step(module, archived, M.run_started).repeat, 'no_news')
  t.end()
})

t.test('a brief stored by version 4 goes on with the one run that it knew', (t) => {
  const older = ({ value, context }: SnapshotOf<any>, waiting?: object) => {
    const { runs: _, ...internal } = context.internal
    return { status: 'active', value, context: { ...context, internal: { ...internal, waiting } } }
  }
  const migrated = (was: object) =>
    module.machine.resolveState(
      module.migrations[4]!(JSON.parse(JSON.stringify(was))) as any,
    ) as unknown as SnapshotOf<any>
  const waits = migrated(older(S.queued!, { revision: 'r1' }))
  t.match(step(module, waits, M['approve (full)']).sends, [{ to: { id: RUN }, message: { type: 'approve' } }])
  t.equal(step(module, waits, M.run_started).snapshot.value, 'executing')
  t.equal(step(module, migrated(older(S.queued!)), M['approve (full)']).sends.length, 0, 'it did not wait')
  t.equal(step(module, migrated(older(S.executing!)), M.run_completed).snapshot.value, 'completed')
  const lost = step(module, S.executing!, M['run_stopped (lost)']).snapshot
  t.equal(step(module, migrated(older(lost)), M.run_started).snapshot.value, 'executing')
  t.equal(step(module, migrated(older(S.completed!)), M.run_observed).snapshot.value, 'analyzed')
  t.strictSame(migrated(older(S.draft!)).context.internal.runs, [])
  t.end()
})

t.test('a result counts as analyzed once its run left evidence about the records behind the brief', (t) => {
  t.equal(step(module, S.completed!, M.run_observed).snapshot.value, 'analyzed')
  t.equal(step(module, S.completed!, M['run_observed (of another record)']).repeat, 'no_news')
  const observed = step(module, S.executing!, M.run_observed).snapshot
  t.equal(observed.value, 'executing')
  const { snapshot, facts } = step(module, observed, M.run_completed)
  t.equal(snapshot.value, 'analyzed')
  t.match(facts, [{ payload: { state: 'completed' } }, { payload: { state: 'analyzed' } }])
  const later = step(module, snapshot, M['run_queued (later run)']).snapshot
  t.equal(later.context.run.observations, 0, 'counting starts over with the next run')
  t.end()
})

t.test('a brief stored by version 1 is an unapproved draft', (t) => {
  const old = {
    status: 'active',
    value: 'draft',
    context: { ...S.draft!.context, digest: 'sha256:old', approvals: undefined },
  }
  const persisted = module.migrations[1]!(JSON.parse(JSON.stringify(old))) as any
  const migrated = module.machine.resolveState(persisted) as unknown as SnapshotOf<any>
  t.strictSame(migrated.context.approvals, [])
  t.notOk('digest' in migrated.context)
  t.equal(step(module, migrated, M.submit).snapshot.value, 'reviewable')
  t.end()
})

t.test('the same brief and records give the same digest, in whatever order they were written', (t) => {
  const shuffled = Object.fromEntries(Object.entries(CREATE.sections).reverse())
  const again = [at(0, { ...CREATE, sections: shuffled }), M.submit, M.approve]
  t.equal(artifactOf(again, at(999, { ...M.compile, by: undefined })).digest, ARTIFACT.digest)
  const other = { ...RECORD, capability: 'Another one.' }
  const sources = { ...SOURCES, records: [other] }
  const moved = [M.create, M.submit, at(3, { ...M.approve, sources })]
  t.not(artifactOf(moved, at(4, { ...M.compile, sources })).digest, ARTIFACT.digest)
  t.not(
    artifactOf([M.create, M.submit, at(3, { ...M.approve, sources: MOVED })], at(4, { ...M.compile, sources: MOVED }))
      .digest,
    ARTIFACT.digest,
  )
  t.end()
})
