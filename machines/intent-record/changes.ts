/** What each message changes in an intent record: pure functions from context and message to the changed members. */
import { changed } from '../changed.ts'
import type { IntentRecordPatch } from '../documents/intent-record.ts'
import { PROBLEMS } from '../drift/problems.ts'
import {
  type Classification,
  type Conflict,
  type DriftState,
  driftState,
  kept,
  NOTHING_OBSERVED,
  seenAt,
  withChange,
  withObservation,
  withoutComplaints,
  withoutEvidence,
} from '../drift/state.ts'
import {
  excusable,
  failingOf,
  type Occasion,
  restated,
  type Subject,
  speaksOfDrift,
  withLapse,
} from '../drift/status.ts'
import type { Message } from '../machine.ts'
import { creationRecord } from '../repeated-create.ts'
import type { Fault } from '../schema.ts'
import type {
  Change,
  ContentGiven,
  Evidence,
  IntentRecordContext,
  IntentRecordMessage,
  Of,
  RecordContent,
  Relationship,
} from './context.ts'

type Context = IntentRecordContext

/** The confidence of a record whose author gives none. */
const CONFIDENCE_DEFAULT = 1

function evidenceOf(recordId: string, given: ContentGiven['evidence'], count: number): Evidence[] {
  return (given ?? []).map((one, index) => {
    const { required = true, ...rest } = one
    return { id: `${recordId}.e${count + index + 1}`, ...rest, required }
  })
}

export function created(message: Of<'create'> | Of<'make'>): Context {
  const { id, project, project_id, slug, content, at, by } = message
  const evidence = evidenceOf(id, content.evidence, 0)
  return {
    id,
    project,
    project_id,
    slug,
    content: { confidence: CONFIDENCE_DEFAULT, ...content, evidence },
    version: 1,
    versioned_at: at,
    relationships: [],
    supersedes: [],
    ...(message.type === 'make' ? { hypothesis_id: message.hypothesis_id } : {}),
    state_at: at,
    ...(by === undefined ? {} : { state_by: by, created_by: by }),
    created_at: at,
    ...kept(NOTHING_OBSERVED),
    internal: {
      creation: message.type === 'create' ? creationRecord(message) : {},
      evidence_count: evidence.length,
      relationship_count: 0,
    },
  }
}

/** The content after the patch; evidence entries without an id are new. */
function patched(
  { id, content, internal }: Context,
  patch: IntentRecordPatch,
): { content: RecordContent; added: number } {
  const { evidence, ...rest } = patch
  const next: Record<string, unknown> = { ...content }
  for (const [member, value] of Object.entries(rest)) {
    if (value === null) delete next[member]
    else next[member] = value
  }
  if (evidence === undefined) return { content: next as unknown as RecordContent, added: 0 }
  let added = 0
  next.evidence = evidence.map(({ id: known, required = true, ...one }) => {
    if (known === undefined) added += 1
    return { id: known ?? `${id}.e${internal.evidence_count + added}`, ...one, required }
  })
  return { content: next as unknown as RecordContent, added }
}

/** Names of the members that the patch changes. */
export function changedBy(context: Context, { patch }: Of<'update'>): string[] {
  const { content } = patched(context, patch)
  const removed = Object.keys(context.content).filter((member) => !(member in content))
  return [...changed(context.content, content), ...removed]
}

/** Evidence entries in the patch that the record does not have, or that the patch names twice. */
export function evidenceFaults({ content }: Context, { patch }: Of<'update'>): Fault[] {
  const known = new Set(content.evidence.map(({ id }) => id))
  const named = (patch.evidence ?? []).map(({ id }) => id)
  return named.flatMap((id, index) => {
    const pointer = `/evidence/${index}/id`
    if (id === undefined) return []
    if (!known.has(id)) return [{ pointer, detail: `is not evidence of the record: ${id}` }]
    return named.indexOf(id) === index ? [] : [{ pointer, detail: `repeats the id of an earlier entry: ${id}` }]
  })
}

/** The new values of the changed members: with one event per version, the log holds the content of every version. */
export function valuesOf(content: RecordContent, names: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const name of names) values[name] = content[name as keyof RecordContent] ?? null
  return values
}

export function updated(context: Context, message: Of<'update'>): Change {
  const { content, added } = patched(context, message.patch)
  const { internal, version } = context
  const isPutRight = context.drift.classification?.classification === 'obsolete_intent'
  const drift = withoutEvidence(driftState(context), new Set(content.evidence.map(({ id }) => id)))
  return {
    content,
    version: version + 1,
    versioned_at: message.at,
    ...kept(isPutRight ? putRight(drift, message) : drift),
    internal: { ...internal, evidence_count: internal.evidence_count + added },
  }
}

function putRight(drift: DriftState, { at, by }: Message): DriftState {
  return withChange(
    { ...withoutComplaints(drift), classification: undefined, repair_brief_id: undefined },
    {
      at,
      kind: 'classification_ended',
      status: drift.status ?? 'unobserved',
      classification: 'obsolete_intent',
      reason: 'the record was updated',
      ...(by === undefined ? {} : { by }),
    },
  )
}

/** A move to another state: why, who and when. */
export function moved(message: IntentRecordMessage): Change {
  const { at, by } = message
  return { reason: (message as { reason?: string }).reason, state_by: by, state_at: at }
}

export function superseded(message: Of<'supersede'>): Change {
  const { replacement } = message
  return { ...moved(message), ...(replacement === undefined ? {} : { superseded_by: replacement }) }
}

/** The record no longer guides runs, so it has no drift status. Its observations are kept. */
export function retired({ drift }: Context): Change {
  return { drift: { ...drift, status: undefined, since: undefined, stale_at: undefined } }
}

export function observed(context: Context, { observation }: Of<'observe'>): Change {
  const evidenceIds = new Set(context.content.evidence.map(({ id }) => id))
  return kept(withObservation(driftState(context), observation, evidenceIds))
}

export function related(context: Context, message: Of<'relate'>): Change {
  const { relationships, internal, id, drift } = context
  const { relation: type, to, notes, by, at } = message
  const number = internal.relationship_count + 1
  const relationship: Relationship = {
    id: `${id}.r${number}`,
    type,
    to,
    ...(notes === undefined ? {} : { notes }),
    ...(by === undefined ? {} : { by }),
    at,
  }
  const change = {
    relationships: [...relationships, relationship],
    internal: { ...internal, relationship_count: number },
  }
  if (type !== 'conflicts_with') return change
  const before = drift.conflicts[to] ?? { guiding: false, since: at, ours: true, theirs: false }
  return { ...change, drift: withConflict(drift, to, { ...before, ours: true }) }
}

export function unrelated(context: Context, { relationship_id }: Of<'unrelate'>): Change {
  const { drift } = context
  const gone = context.relationships.find(({ id }) => id === relationship_id)!
  const relationships = context.relationships.filter((one) => one !== gone)
  const conflict = drift.conflicts[gone.to]
  const isStated = relationships.some(({ type, to }) => type === 'conflicts_with' && to === gone.to)
  if (gone.type !== 'conflicts_with' || isStated || conflict === undefined) return { relationships }
  return { relationships, drift: withConflict(drift, gone.to, { ...conflict, ours: false }) }
}

export function peerHeard({ drift }: Context, message: Of<'peer_conflict'>): Change {
  const { with: peer, key, guiding, said, at } = message
  const known = drift.conflicts[peer]
  if (known === undefined && said !== 'declared') return {}
  const before = known ?? { guiding: false, since: at, ours: false, theirs: false }
  const since = guiding && !before.guiding ? at : before.since
  const theirs = said === undefined ? before.theirs : said === 'declared'
  return { drift: withConflict(drift, peer, { ...before, key, guiding, since, theirs }) }
}

/** Drops the conflict once neither side declares it any more. */
function withConflict(drift: Context['drift'], peer: string, conflict: Conflict): Context['drift'] {
  const { [peer]: _, ...others } = drift.conflicts
  return { ...drift, conflicts: conflict.ours || conflict.theirs ? { ...others, [peer]: conflict } : others }
}

export function classified(context: Context, message: Of<'classify'>): Change {
  const { classification: word, reason, review_at, by, at } = message
  const drift = withLapse(driftState(context), at)
  const status = drift.status!
  const said = { ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) }
  if (word === 'none') {
    const ended = drift.classification!.classification
    const change = { at, kind: 'classification_ended' as const, status, classification: ended, ...said }
    return kept(withChange({ ...drift, classification: undefined }, change))
  }
  const subject = subjectOf(context)
  const classification: Classification = {
    classification: word,
    ...said,
    ...(review_at === undefined ? {} : { review_at }),
    at,
    was_observed: speaksOfDrift(subject),
    ...(word === 'allowed_exception' ? { excused: excusable(subject) } : {}),
    ...(word === 'real' ? { failing: failingOf(subject) } : {}),
  }
  const change = { at, kind: 'classified' as const, status, classification: word, ...said }
  return kept(withChange({ ...drift, classification }, change))
}

export function repairDrafted(context: Context, { formation_brief_id, by, at }: Of<'repair_drafted'>): Change {
  const drift = withLapse(driftState(context), at)
  const status = drift.status!
  const change = {
    at,
    kind: 'repair_drafted' as const,
    status,
    formation_brief_id,
    ...(by === undefined ? {} : { by }),
  }
  // If the drift is over by now, the brief only goes into the history.
  const repair = PROBLEMS.has(status) ? { repair_brief_id: formation_brief_id } : {}
  return kept(withChange({ ...drift, ...repair }, change))
}

export function subjectOf(context: Context): Subject {
  const { content, versioned_at, state_at } = context
  return { evidence: content.evidence, versioned_at, state_at, drift: driftState(context) }
}

const CAUSES: Readonly<Record<string, Occasion['cause']>> = {
  observe: 'observation',
  classify: 'classification',
  update: 'version',
  peer_conflict: 'conflict',
  relate: 'conflict',
  unrelate: 'conflict',
}

/** The drift of a record that guides runs, recomputed after what the message has changed. */
export function driftRestated(context: Context, message: IntentRecordMessage): Change {
  const occasion: Occasion = {
    cause: CAUSES[message.type] ?? 'state',
    at: message.at,
    by: message.by,
    ...(message.type === 'observe'
      ? { observation_id: message.observation.id, seen_at: seenAt(message.observation) }
      : {}),
  }
  return kept(restated(subjectOf(context), occasion))
}
