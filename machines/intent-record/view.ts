/** How an intent record is served and indexed. */

import { INTENT_RECORD_SCHEMA_VERSION, type IntentRecord } from '../documents/intent-record.ts'
import { attentionSince } from '../drift/document.ts'
import type { KeptDrift, Noted } from '../drift/state.ts'
import { projectEnvelope } from '../envelope.ts'
import type { FactEnvelope, SnapshotOf, Term } from '../machine.ts'
import { recordKey } from '../record-key.ts'
import type { IntentRecordContext, Source } from './context.ts'
import { placesOf } from './places.ts'

type Snapshot = SnapshotOf<IntentRecordContext>

export function envelope({ project }: IntentRecordContext): FactEnvelope {
  return projectEnvelope(project)
}

/** Sorts after every real time: for records that never become stale on their own. */
const NEVER = '9999-12-31T23:59:59.999Z'

export function terms(snapshot: Snapshot): readonly Term[] {
  const { value, context } = snapshot
  const { project, created_at: order, content } = context
  return [
    { index: 'project', value: project, order },
    { index: 'state', value: `${project}/${value}`, order },
    ...Array.from(placesOf(content), (path) => ({ index: 'path', value: `${project}/${path}`, order })),
    ...driftTerms(snapshot),
  ]
}

/** Index rows by drift status, ordered by when the status began or when the record becomes stale. */
function driftTerms(snapshot: Snapshot): readonly Term[] {
  const { project, drift } = snapshot.context
  const { status } = drift
  if (status === undefined) return []
  const row = { index: 'drift', value: `${project}/${status}`, order: driftOrder(drift) }
  const due = attentionSince(snapshot)
  return due === undefined ? [row] : [row, { index: 'attention', value: 'drift', order: due }]
}

function driftOrder({ status, since, stale_at }: KeptDrift['drift']): string {
  return status === 'holding' || status === 'unobserved' ? (stale_at ?? NEVER) : since!
}

/** A person's own words can be trusted as such; any other source may quote a repository or a machine. */
function isUntrusted({ source_type }: Source): boolean {
  return source_type !== 'human' && source_type !== 'conversation'
}

export function document({ value, context }: Snapshot): IntentRecord {
  const { id, project, project_id, slug, content, version, versioned_at, relationships, supersedes, drift } = context
  const { superseded_by, hypothesis_id, reason, state_by, state_at, created_by, created_at } = context
  const { title, confidence, scope, sources, evidence, ...judgement } = content
  return {
    id,
    schema_version: INTENT_RECORD_SCHEMA_VERSION,
    project,
    project_id,
    slug,
    key: recordKey(project, slug),
    state: value as IntentRecord['state'],
    version,
    title,
    ...judgement,
    confidence,
    ...(scope === undefined ? {} : { scope }),
    ...(sources === undefined ? {} : { sources: sources.map((one) => ({ ...one, untrusted: isUntrusted(one) })) }),
    evidence: evidence.map((one) => ({ ...one, ...latestOf(drift.latest[one.id]) })),
    relationships: relationships.map((one) => ({ ...one })) as IntentRecord['relationships'],
    supersedes: [...supersedes],
    ...(superseded_by === undefined ? {} : { superseded_by }),
    ...(hypothesis_id === undefined ? {} : { hypothesis_id }),
    ...(reason === undefined ? {} : { reason }),
    ...(state_by === undefined ? {} : { state_by: { ...state_by } }),
    state_at,
    ...(created_by === undefined ? {} : { created_by: { ...created_by } }),
    created_at,
    ...(version === 1 ? {} : { updated_at: versioned_at }),
  }
}

function latestOf(noted: Noted | undefined): Pick<IntentRecord['evidence'][number], 'latest'> {
  if (noted === undefined) return {}
  const { id, result, observed_at } = noted
  return { latest: { observation_id: id, result, observed_at } }
}
