/**
 * The evidence observation: something seen that speaks for or against an intent. An engine run takes it, and passes
 * each one that names a record on to that record, as an `observe` message.
 *
 * An evidence id begins with the id of its record, so that either leads to the record without a look-up.
 */
import { clipped } from '../clipped.ts'
import { idPattern } from '../ids.ts'
import type { By } from '../machine.ts'
import { exactlyWith, type Static, stringEnum, Type } from '../schema.ts'
import { CLOSED, name, REFERENCE_LENGTH_MAX, serviceId, strings, text, time } from './fields.ts'

export const EVIDENCE_RESULTS = ['pass', 'fail', 'unknown', 'waived'] as const

const ABOUT = ['evidence', 'threat', 'contradiction'] as const

/** `<id of the record>.e<number>` */
const EVIDENCE_ID = new RegExp(`^(${idPattern('ir')})\\.e([1-9][0-9]{0,8})$`)

export function evidenceId(description: string) {
  return Type.String({ pattern: EVIDENCE_ID.source, description })
}

const observationFields = {
  intent_record_id: Type.Optional(serviceId('ir', 'The intent record that it concerns.')),
  evidence_id: Type.Optional(evidenceId('The evidence of that record that it concerns; implies the record.')),
  about: Type.Optional(
    stringEnum(ABOUT, {
      description:
        '`evidence` (default): `pass` means that the intent holds. `threat`: `fail` means that a threat to it was seen. ' +
        '`contradiction`: `fail` means that the record itself contradicts the code or another record.',
    }),
  ),
  result: stringEnum(EVIDENCE_RESULTS, { description: 'What was seen.' }),
  observed_by: name('Who or what observed it, such as `engine`.'),
  source_type: name(
    '`engine_gate`, `manual_review`, `test_run`, `static_analysis`, `trace_analysis`, or an engine-specific word.',
  ),
  supporting_artifacts: Type.Optional(strings('URIs of traces, files, logs.', REFERENCE_LENGTH_MAX)),
  notes: Type.Optional(text('Further notes.')),
  observed_at: time('When it was observed.'),
  trace_id: Type.Optional(name('Trace that shows it.')),
  waiver: Type.Optional(
    Type.Object(
      {
        waived_by: name('Who waived it.'),
        reason: text('Why.'),
        review_at: time('When to review it.'),
      },
      { ...CLOSED, title: 'Waiver', description: 'Required with `waived`, and only with it.' },
    ),
  ),
}

/** An observation as posted. */
export const evidenceObservation = Type.Object(observationFields, {
  ...CLOSED,
  title: 'EvidenceObservationCreate',
  allOf: [exactlyWith('result', ['waived'], 'waiver')],
})
type EvidenceObservationCreate = Static<typeof evidenceObservation>

/** An observation as stored by the engine run and served. */
export const evidenceObservationDocument = Type.Object(
  {
    id: serviceId('obs', 'The observation.'),
    ...observationFields,
    recorded_at: time('When the service recorded it.'),
  },
  { title: 'EvidenceObservation' },
)
export type EvidenceObservation = Static<typeof evidenceObservationDocument>

type Named = Pick<EvidenceObservationCreate, 'intent_record_id' | 'evidence_id'>

/** The record that an observation is about; undefined if it belongs to the engine run only. */
export function intentRecordIdOf({ intent_record_id, evidence_id }: Named): string | undefined {
  return intent_record_id ?? EVIDENCE_ID.exec(evidence_id ?? '')?.[1]
}

/** The number of the evidence within its record: numbers start at 1 and are never reused. */
export function evidenceNumberOf({ evidence_id = '' }: Named): number | undefined {
  const number = EVIDENCE_ID.exec(evidence_id)?.[2]
  return number === undefined ? undefined : Number(number)
}

/** Whether both ids are given and name different records: the edge refuses such an observation. */
export function namesTwoRecords({ intent_record_id, evidence_id }: Named): boolean {
  return intent_record_id !== undefined && evidence_id !== undefined && !evidence_id.startsWith(`${intent_record_id}.`)
}

/** An observation as a record remembers it: shortened, since the engine run and the log hold all of it. */
export interface Seen extends Omit<EvidenceObservation, 'intent_record_id'> {
  readonly engine_run_id: string
  readonly run_request_id: string
}

/** To the actor (`intent_record`, `intentRecordIdOf(observation)`): one observation. Its id identifies repeats. */
export interface ObserveMessage {
  readonly type: 'observe'
  readonly by?: By
  /** Key of the engine run's project: a record of another project refuses the message. */
  readonly project: string
  readonly observation: Seen
}

const NOTES_KEPT_CHARS = 500
const ARTIFACTS_KEPT = 5

/** The message for an observation that names a record. */
export function observeMessage(
  { intent_record_id: _, notes, supporting_artifacts, ...observation }: EvidenceObservation,
  run: { readonly project: string; readonly engine_run_id: string; readonly run_request_id: string },
  by: By | undefined,
): ObserveMessage {
  const { project, engine_run_id, run_request_id } = run
  return {
    type: 'observe',
    ...(by === undefined ? {} : { by }),
    project,
    observation: {
      ...observation,
      ...(notes === undefined ? {} : { notes: clipped(notes, NOTES_KEPT_CHARS) }),
      ...(supporting_artifacts === undefined
        ? {}
        : { supporting_artifacts: supporting_artifacts.slice(0, ARTIFACTS_KEPT) }),
      engine_run_id,
      run_request_id,
    },
  }
}
