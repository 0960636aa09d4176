import t from 'tap'
import {
  type EvidenceObservation,
  evidenceObservation,
  intentRecordIdOf,
  namesTwoRecords,
  observeMessage,
} from '../../../machines/documents/observation.ts'
import { compile } from '../../../machines/schema.ts'

const RECORD = `ir_${'a'.repeat(24)}`
const OTHER = `ir_${'b'.repeat(24)}`
const SEEN = { result: 'pass', observed_by: 'engine', source_type: 'engine_gate', observed_at: '2026-01-01T00:00:00Z' }

t.test('an evidence id names its record, and two ids must name the same record', (t) => {
  t.equal(intentRecordIdOf({}), undefined)
  t.equal(intentRecordIdOf({ intent_record_id: RECORD }), RECORD)
  t.equal(intentRecordIdOf({ evidence_id: `${RECORD}.e12` }), RECORD)
  t.notOk(namesTwoRecords({ intent_record_id: RECORD, evidence_id: `${RECORD}.e1` }))
  t.notOk(namesTwoRecords({ evidence_id: `${RECORD}.e1` }))
  t.ok(namesTwoRecords({ intent_record_id: OTHER, evidence_id: `${RECORD}.e1` }))
  t.end()
})

t.test('results and subjects are closed sets, and ids have their formats', (t) => {
  const check = compile(evidenceObservation)
  const pointer = (more: object) => check({ ...SEEN, ...more })[0]?.pointer
  for (const result of ['pass', 'fail', 'unknown']) t.equal(pointer({ result }), undefined, result)
  t.equal(pointer({ result: 'partially_satisfied' }), '/result')
  for (const about of ['evidence', 'threat', 'contradiction']) t.equal(pointer({ about }), undefined, about)
  t.equal(pointer({ about: 'mood' }), '/about')
  t.equal(pointer({ intent_record_id: 'ir_1' }), '/intent_record_id')
  t.equal(pointer({ evidence_id: RECORD }), '/evidence_id')
  t.equal(pointer({ evidence_id: `${RECORD}.e0` }), '/evidence_id')
  t.equal(pointer({ evidence_id: `${RECORD}.e3` }), undefined)
  t.end()
})

t.test('a record is sent its observation in short, with the run that it came from', (t) => {
  const observation = {
    id: `obs_${'c'.repeat(24)}`,
    ...SEEN,
    intent_record_id: RECORD,
    evidence_id: `${RECORD}.e1`,
    notes: 'n'.repeat(4_000),
    supporting_artifacts: Array.from({ length: 200 }, (_, n) => `file:///${n}`),
    recorded_at: '2026-01-01T00:00:01Z',
  } as EvidenceObservation
  const run = { project: 'acme', engine_run_id: 'run_1', run_request_id: 'runreq_1' }
  const by = { id: 'r1', name: 'r1' }
  const { observation: told, ...message } = observeMessage(observation, run, by)
  t.strictSame(message, { type: 'observe', by, project: 'acme' })
  t.strictSame(told, {
    id: observation.id,
    ...SEEN,
    evidence_id: `${RECORD}.e1`,
    notes: 'n'.repeat(500),
    supporting_artifacts: ['file:///0', 'file:///1', 'file:///2', 'file:///3', 'file:///4'],
    recorded_at: '2026-01-01T00:00:01Z',
    engine_run_id: 'run_1',
    run_request_id: 'runreq_1',
  })
  t.end()
})
