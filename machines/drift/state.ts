/**
 * What an intent record remembers of its observations: the newest for each piece of evidence, and the open threats and
 * contradictions. Enough to compute every drift status, and of bounded size even after a million observations.
 *
 * Observations may arrive late and out of order: they are ordered by when they were seen, which is never later than
 * when they arrived.
 */
import type { ClassificationWord, DriftChange, DriftStatus } from '../documents/drift.ts'
import type { Seen } from '../documents/observation.ts'
import { utc } from '../instant.ts'
import type { By } from '../machine.ts'

/** How many open threats, and how many contradictions, are remembered; beyond that the one seen first is forgotten. */
const OPEN_KEPT_MAX = 16
/** How many of the newest observation ids are kept: a second safeguard behind the outbox, which delivers once. */
const RECENT_KEPT_MAX = 16
/** How many of the newest changes the history keeps; older ones are in the event log. */
export const HISTORY_KEPT_MAX = 100

/** Key of the newest observation that names no evidence of the record. */
export const NO_EVIDENCE = ''

export interface Noted extends Seen {
  /** See {@link seenAt}. */
  readonly seen_at: string
}

export interface Classification {
  readonly classification: ClassificationWord
  readonly reason?: string
  readonly review_at?: string
  readonly by?: By
  readonly at: string
  /** Whether observations showed a drift at that time: only then can observations end the classification. */
  readonly was_observed: boolean
  /** For a real drift: the required evidence that was failing at that time. If absent (not recorded), all of it. */
  readonly failing?: readonly string[]
  /** For an exception: signs of the problems it excuses, those present when given. If absent (not recorded), all. */
  readonly excused?: readonly string[]
}

export interface Conflict {
  /** Key of the other record, once known. */
  readonly key?: string
  /** Whether the other record guides runs: only then is this an open contradiction. */
  readonly guiding: boolean
  readonly since: string
  /** Whether this record declared the conflict, and whether the other one did. */
  readonly ours: boolean
  readonly theirs: boolean
}

type Excusable = 'threat' | 'contradiction'

export interface DriftState {
  readonly count: number
  readonly newest_at?: string
  readonly newest_pass_at?: string
  readonly contradiction_cleared_at?: string
  readonly latest: Readonly<Record<string, Noted>>
  readonly threats: readonly Noted[]
  readonly contradictions: readonly Noted[]
  /** Waived observations of either kind, until their review is due or a pass makes them unnecessary. */
  readonly excuses?: Readonly<Partial<Record<Excusable, Noted>>>
  readonly recent: readonly string[]
  /** Other records that this one conflicts with, by id. */
  readonly conflicts: Readonly<Record<string, Conflict>>
  readonly classification?: Classification | undefined
  readonly repair_brief_id?: string | undefined
  /** The status as of the last step, ignoring the passage of time; absent while the record guides nothing. */
  readonly status?: DriftStatus | undefined
  readonly since?: string | undefined
  /** When the record becomes stale. */
  readonly stale_at?: string | undefined
  readonly history: readonly DriftChange[]
}

/**
 * How the record stores it: the history is kept apart from what every observation changes, so that what a step writes
 * into the log stays small.
 */
export interface KeptDrift {
  readonly drift: Omit<DriftState, 'history'>
  readonly drift_history: DriftState['history']
}

export function kept({ history, ...drift }: DriftState): KeptDrift {
  return { drift, drift_history: history }
}

export function driftState({ drift, drift_history }: KeptDrift): DriftState {
  return { ...drift, history: drift_history }
}

export const NOTHING_OBSERVED: DriftState = {
  count: 0,
  latest: {},
  threats: [],
  contradictions: [],
  recent: [],
  conflicts: {},
  history: [],
}

export function isKnown({ recent }: KeptDrift['drift'], { id }: Seen): boolean {
  return recent.includes(id)
}

/** When the observation was seen, for order and age: UTC, never later than when it arrived. */
export function seenAt({ recorded_at, observed_at }: Seen): string {
  const came = utc(recorded_at)!
  const said = utc(observed_at) ?? came
  return said < came ? said : came
}

/** The state with one more observation; `evidenceIds` are those of the record's present version. */
export function withObservation(state: DriftState, seen: Seen, evidenceIds: ReadonlySet<string>): DriftState {
  const noted: Noted = { ...seen, seen_at: seenAt(seen) }
  const recent = [...state.recent.slice(1 - RECENT_KEPT_MAX), seen.id]
  const heard = { ...state, latest: withoutStray(state.latest), count: state.count + 1, recent }
  if (isOfFormerEvidence(seen, evidenceIds)) return heard
  const counted = { ...heard, newest_at: later(state.newest_at, noted.seen_at) }
  switch (noted.about) {
    case 'threat':
      return withThreat(counted, noted)
    case 'contradiction':
      return withContradiction(counted, noted)
    default:
      return withEvidence(counted, noted)
  }
}

/** Earlier builds stored observations of evidence that the record does not name as observations of the whole record. */
function withoutStray(latest: DriftState['latest']): DriftState['latest'] {
  const { [NO_EVIDENCE]: general, ...others } = latest
  return general?.evidence_id === undefined ? latest : others
}

/** Whether the observation is of evidence that the record no longer names; it says nothing of the present version. */
function isOfFormerEvidence({ about = 'evidence', evidence_id }: Seen, evidenceIds: ReadonlySet<string>): boolean {
  return about === 'evidence' && evidence_id !== undefined && !evidenceIds.has(evidence_id)
}

function withEvidence(state: DriftState, noted: Noted): DriftState {
  const { evidence_id: key = NO_EVIDENCE } = noted
  const before = state.latest[key]
  const isNewest = before === undefined || before.seen_at <= noted.seen_at
  const latest = isNewest ? { ...state.latest, [key]: noted } : state.latest
  return withPass({ ...state, latest }, noted)
}

/** A threat stands until any later observation of the record passes: what was threatened has held. */
function withThreat(state: DriftState, noted: Noted): DriftState {
  if (noted.result !== 'fail') return withPass(state, noted)
  if (state.newest_pass_at !== undefined && state.newest_pass_at >= noted.seen_at) return state
  return { ...state, threats: opened(state.threats, noted) }
}

function withPass(state: DriftState, noted: Noted): DriftState {
  const { result, about, seen_at } = noted
  if (result !== 'pass' && !(result === 'waived' && about === 'threat')) return state
  const threats = state.threats.filter((threat) => threat.seen_at > seen_at)
  const { newest_pass_at: knownAt } = state
  return { ...withExcuse(state, 'threat', noted, knownAt), threats, newest_pass_at: later(knownAt, seen_at) }
}

/**
 * The newest observation decides: a waiver excuses until its review, and a pass needs no excuse. `knownAt`: when the
 * newest observation before it was seen.
 */
function withExcuse(state: DriftState, of: Excusable, noted: Noted, knownAt: string | undefined): DriftState {
  if (knownAt !== undefined && knownAt > noted.seen_at) return state
  const { [of]: _, ...others } = state.excuses ?? {}
  if (noted.result === 'waived') return { ...state, excuses: { ...others, [of]: noted } }
  return state.excuses?.[of] === undefined ? state : { ...state, excuses: others }
}

/** A contradiction stands until an observation says that there is none. */
function withContradiction(state: DriftState, noted: Noted): DriftState {
  const { result, seen_at } = noted
  const { contradiction_cleared_at: clearedAt } = state
  if (result === 'fail') {
    if (clearedAt !== undefined && clearedAt >= seen_at) return state
    return { ...state, contradictions: opened(state.contradictions, noted) }
  }
  if (result === 'unknown') return state
  const contradictions = state.contradictions.filter((one) => one.seen_at > seen_at)
  const excused = withExcuse(state, 'contradiction', noted, clearedAt)
  return { ...excused, contradictions, contradiction_cleared_at: later(clearedAt, seen_at) }
}

function opened(open: readonly Noted[], noted: Noted): readonly Noted[] {
  const all = [...open, noted]
  if (all.length <= OPEN_KEPT_MAX) return all
  const first = all.reduce((earliest, one) => (one.seen_at < earliest.seen_at ? one : earliest))
  return all.filter((one) => one !== first)
}

function later(known: string | undefined, time: string): string {
  return known === undefined || known < time ? time : known
}

/** Forgets observations of evidence that the record no longer names. */
export function withoutEvidence(state: DriftState, evidenceIds: ReadonlySet<string>): DriftState {
  const kept = Object.entries(state.latest).filter(([id]) => id === NO_EVIDENCE || evidenceIds.has(id))
  return kept.length === Object.keys(state.latest).length ? state : { ...state, latest: Object.fromEntries(kept) }
}

/** An outdated record was corrected: what spoke against its old content no longer counts. */
export function withoutComplaints(state: DriftState): DriftState {
  const latest = Object.fromEntries(Object.entries(state.latest).filter(([, { result }]) => result !== 'fail'))
  return { ...state, latest, threats: [], contradictions: [], excuses: {} }
}

/** Adds one entry to the history. */
export function withChange(state: DriftState, change: DriftChange): DriftState {
  return { ...state, history: [...state.history.slice(1 - HISTORY_KEPT_MAX), change] }
}
