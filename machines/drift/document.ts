/** The drift of a record as it is served: its status, the reasons, the severity, and what to do about it. */
import type {
  Drift,
  DriftAction,
  DriftChange,
  DriftObservation,
  DriftReason,
  DriftSeverity,
  DriftStatus,
} from '../documents/drift.ts'
import { utc } from '../instant.ts'
import { subjectOf } from '../intent-record/changes.ts'
import type { IntentRecordContext } from '../intent-record/context.ts'
import type { SnapshotOf } from '../machine.ts'
import { recordKey } from '../record-key.ts'
import { PROBLEMS } from './problems.ts'
import { type Classification, driftState, type Noted } from './state.ts'
import { type Cause, exceededSince, type Subject, standing, withLapse } from './status.ts'

type Snapshot = SnapshotOf<IntentRecordContext>

/**
 * `high` if required evidence failed; undefined while the record holds. `subject` may be newer than `status`: a status
 * that is no problem stays `low`, whatever failed since.
 */
export function severityOf(status: DriftStatus, { evidence, drift }: Subject): DriftSeverity | undefined {
  if (status === 'holding') return undefined
  if (!PROBLEMS.has(status)) return 'low'
  return evidence.some(({ id, required }) => required && drift.latest[id]?.result === 'fail') ? 'high' : 'medium'
}

const ACTIONS: Readonly<Record<DriftStatus, DriftAction>> = {
  contradicted: 'ask',
  drifted: 'repair',
  threatened: 'inspect',
  stale: 'inspect',
  unobserved: 'inspect',
  holding: 'none',
}

/** A person's classification decides; an exception only until its review, and not for problems that came later. */
function actionFor(status: DriftStatus, subject: Subject, now: string): DriftAction {
  const { classification } = subject.drift
  switch (classification?.classification) {
    case 'real':
      return 'repair'
    case 'obsolete_intent':
      return 'update_record'
    case 'allowed_exception':
      if (!PROBLEMS.has(status)) return ACTIONS[status]
      return isInForce(classification, now) && exceededSince(classification, subject) === undefined ? 'none' : 'ask'
    default:
      return ACTIONS[status]
  }
}

function isInForce({ review_at }: Classification, now: string): boolean {
  return review_at === undefined || (utc(review_at) ?? '') > now
}

/** The drift of an accepted or active record at a time (UTC). */
export function driftOf({ value, context }: Snapshot, now: string): Drift {
  const { id, project, slug, content, version, drift } = context
  const subject = subjectOf(context)
  const { status, causes, staleAt } = standing(subject, now)
  const severity = severityOf(status, subject)
  const { classification } = drift
  const { status: known, since } = withLapse(subject.drift, now)
  return {
    project,
    intent_record: {
      id,
      key: recordKey(project, slug),
      title: content.title,
      state: value as Drift['intent_record']['state'],
      version,
    },
    status,
    since: known === status && since !== undefined ? since : causes[0]!.since,
    ...(severity === undefined ? {} : { severity }),
    action: actionFor(status, subject, now),
    because: causes.map(reasonOf),
    ...(classification === undefined ? {} : { classification: shown(classification) }),
    ...(drift.repair_brief_id === undefined ? {} : { repair_brief_id: drift.repair_brief_id }),
    observations: drift.count,
    ...(drift.newest_at === undefined ? {} : { last_observed_at: drift.newest_at }),
    ...(staleAt === undefined || PROBLEMS.has(status) ? {} : { stale_at: staleAt }),
  }
}

function shown({
  was_observed: _,
  excused: __,
  failing: ___,
  ...classification
}: Classification): NonNullable<Drift['classification']> {
  return { ...classification, ...(classification.by === undefined ? {} : { by: { ...classification.by } }) }
}

function reasonOf({ since: _, noted, ...cause }: Cause): DriftReason {
  return noted === undefined ? cause : { ...cause, observation: observationOf(noted) }
}

function observationOf(noted: Noted): DriftObservation {
  const { seen_at: _, about: __, evidence_id: ___, recorded_at: ____, ...observation } = noted
  return observation as DriftObservation
}

/** Newest first, including what the passage of time alone has changed since the last step. */
export function driftHistoryOf({ context }: Snapshot, now: string): DriftChange[] {
  return [...withLapse(driftState(context), now).history].reverse()
}

/** From when on a person must classify the drift; undefined if nobody need do so. */
export function attentionSince({ context }: Snapshot): string | undefined {
  const { status, since, classification } = context.drift
  if (status === undefined || !PROBLEMS.has(status)) return undefined
  if (classification === undefined) return since
  if (classification.classification !== 'allowed_exception') return undefined
  return exceededSince(classification, subjectOf(context)) ?? utc(classification.review_at ?? '')
}
