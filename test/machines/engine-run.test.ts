import t from 'tap'
import { engineRunDocument, OBSERVATIONS_A_RUN_MAX } from '../../machines/documents/engine-run.ts'
import { evidenceObservation } from '../../machines/documents/observation.ts'
import { engineRunModule as module } from '../../machines/engine-run.ts'
import { validatePayload } from '../../machines/events/index.ts'
import type { OwnFact } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('engine-run')

const ID = `run_${'a'.repeat(24)}`
const RUN = {
  id: ID,
  project: 'acme',
  project_id: `proj_${'b'.repeat(24)}`,
  run_request_id: 'runreq_1',
  attempt: 1,
  runner_id: 'runner-1',
  throttle: 'dry_run',
  trace_id: 'c'.repeat(32),
  span_id: null,
  causation_id: null,
  gather_id: null,
  opened_at: '2026-01-01T00:00:00.000000Z',
}
const OVER = { ...RUN, outcome: 'completed', closed_at: '2026-01-01T00:00:01.000000Z' }
const seen = (n: number) => ({
  id: `obs_${String(n).padStart(24, '0')}`,
  result: 'pass',
  observed_by: 'engine',
  source_type: 'engine_gate',
  observed_at: '2026-01-01T00:00:00Z',
})
const M = {
  trace_summary: at(1, { type: 'trace_summary', run: RUN, summary: { blocks_executed: ['plan'] }, digest: 'digest-1' }),
  'trace_summary (other)': at(2, { type: 'trace_summary', run: RUN, summary: {}, digest: 'digest-2' }),
  evidence: at(3, { type: 'evidence', run: RUN, observations: [seen(1), seen(2)] }),
  'trace_summary (of one that is over)': at(5, { type: 'trace_summary', run: OVER, summary: {}, digest: 'digest-3' }),
  'evidence (of one that is over)': at(5, { type: 'evidence', run: OVER, observations: [seen(3)] }),
  end: at(4, { type: 'end', run: RUN, outcome: 'completed' }),
}
const open = after(module, [M.evidence])
const summarized = after(module, [M.trace_summary])
const closed = after(module, [M.trace_summary, M.end])
const unreported = after(module, [M.end])

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(
    table(module, { absent: absent(module), open, summarized, closed, 'closed, unreported': unreported }, M),
    'engine run',
  )
  t.end()
})

t.test('evidence is accepted in every state, each observation once', (t) => {
  for (const snapshot of [summarized, closed, unreported]) {
    const first = step(module, snapshot, M.evidence)
    t.equal(first.facts.length, 2, String(snapshot.value))
    t.equal(step(module, first.snapshot, M.evidence).repeat, 'already_recorded')
    const more = step(module, first.snapshot, at(5, { type: 'evidence', run: RUN, observations: [seen(2), seen(3)] }))
    t.match(more.facts, [{ payload: { observation_id: seen(3).id } }])
    t.equal(more.snapshot.context.evidence.length, 3)
  }
  const twice = step(module, summarized, at(5, { type: 'evidence', run: RUN, observations: [seen(1), seen(1)] }))
  t.equal(twice.facts.length, 1, 'also one that a post repeats')
  t.equal(twice.snapshot.context.evidence.length, 1)
  const many = Array.from({ length: OBSERVATIONS_A_RUN_MAX }, (_, n) => seen(n + 1))
  t.equal(
    step(module, absent(module), at(5, { type: 'evidence', run: RUN, observations: [...many, seen(0)] })).refused,
    'illegal_move',
  )
  const full = step(module, open, at(5, { type: 'evidence', run: RUN, observations: many })).snapshot
  t.equal(step(module, full, at(6, { type: 'evidence', run: RUN, observations: [seen(9999)] })).refused, 'illegal_move')
  t.end()
})

t.test('each record named by evidence hears of it once, and the brief is told which records', (t) => {
  const [record, other] = ['1', '2'].map((digit) => `ir_${digit.repeat(24)}`)
  const observations = [
    { ...seen(1), intent_record_id: record, notes: 'x'.repeat(5_000) },
    { ...seen(2), evidence_id: `${other}.e1` },
    seen(3),
  ]
  const run = { ...RUN, formation_brief_id: 'brief_1' }
  const first = step(module, absent(module), at(3, { type: 'evidence', run, observations, by: { id: 'r', name: 'r' } }))
  const told = first.sends.filter(({ to }) => to.kind !== 'run_request')
  t.match(told, [
    {
      to: { kind: 'intent_record', id: record },
      message: {
        type: 'observe',
        project: 'acme',
        by: { id: 'r' },
        observation: { id: seen(1).id, engine_run_id: ID },
      },
    },
    {
      to: { kind: 'intent_record', id: other },
      message: { observation: { id: seen(2).id, recorded_at: at(3, M.end).at } },
    },
    {
      to: { kind: 'formation_brief', id: 'brief_1' },
      message: { type: 'run_observed', run_request_id: 'runreq_1', intent_record_ids: [record, other] },
    },
  ])
  t.equal(told.length, 3)
  const again = at(4, {
    type: 'evidence',
    run,
    observations: [...observations, { ...seen(4), intent_record_id: record }],
  })
  t.match(step(module, first.snapshot, again).sends, [
    { message: { observation: { id: seen(4).id } } },
    { message: { intent_record_ids: [record] } },
  ])
  const alone = step(module, absent(module), at(3, { type: 'evidence', run: RUN, observations }))
  t.notOk(
    alone.sends.some(({ to }) => to.kind === 'formation_brief'),
    'a run without a brief tells none',
  )
  t.end()
})

t.test('documents and facts satisfy their schemas', (t) => {
  for (const snapshot of [open, summarized, closed, step(module, closed, M.evidence).snapshot]) {
    t.strictSame(compile(engineRunDocument)(module.document(reopened(module, snapshot))), [])
    for (const message of Object.values(M)) {
      for (const fact of step(module, snapshot, message).facts) {
        t.strictSame(validatePayload(fact.type, (fact as OwnFact).payload), [], fact.type)
      }
    }
  }
  t.end()
})

t.test('a waiver must say who, why and when to look again, and other results must not', (t) => {
  const check = compile(evidenceObservation)
  const { id: _, ...pass } = seen(1)
  const waiver = { waived_by: 'ann', reason: 'known', review_at: '2026-02-01T00:00:00Z' }
  t.strictSame(check(pass), [])
  t.strictSame(check({ ...pass, result: 'waived', waiver }), [])
  t.equal(check({ ...pass, result: 'waived' })[0]?.pointer, '/waiver')
  t.equal(check({ ...pass, waiver })[0]?.pointer, '/waiver')
  t.end()
})
