/**
 * What an intent record remembers of the observations of it: of each evidence the newest, of threats and
 * contradictions those that are open. Enough for every word of its drift, and the same size after a million of them.
 *
 * Observations may come late and out of order: what counts is when they were seen, never later than when they came.
 */
import type { ClassificationWord, DriftChange, DriftStatus } from '../documents/drift.ts'
import type { Seen } from '../documents/observation.ts'
import { utc } from '../instant.ts'
import type { By } from '../machine.ts'

/** Open threats and contradictions remembered of each: past it the one that was seen first is forgotten. */
const OPEN_KEPT_MAX = 16
/** Ids of the newest observations: a second line behind the outbox, which delivers once. */
const RECENT_KEPT_MAX = 16
/** Newest changes kept for the history; older ones are in the event log. */
export const HISTORY_KEPT_MAX = 100

/** Key of the newest observation that names no evidence of the record. */
export const NO_EVIDENCE = ''

export interface Noted extends Seen {
  /** As {@link seenAt} says. */
  readonly seen_at: string
}

export interface Classification {
  readonly classification: ClassificationWord
  readonly reason?: string
  readonly review_at?: string
  readonly by?: By
  readonly at: string
  /** Whether observations spoke of a drift then: only such a one can be ended by observations. */
  readonly was_observed: boolean
  /** Of a real drift: required evidence that failed when it was said. Absent where that was not written down: all. */
  readonly failing?: readonly string[]
  /** Signs of what an exception excuses: what stood when it was given. Absent where that was not written down: all. */
  readonly excused?: readonly string[]
}

export interface Conflict {
  /** Key of the other record, once it has been heard of. */
  readonly key?: string
  /** Whether the other record guides runs: only then is it an open contradiction. */
  readonly guiding: boolean
  readonly since: string
  /** This record stated it; the other one did. */
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
  /** What a person has excused of either, until it is to be looked at again, or is seen not to be. */
  readonly excuses?: Readonly<Partial<Record<Excusable, Noted>>>
  readonly recent: readonly string[]
  /** Other records that this one conflicts with, by id. */
  readonly conflicts: Readonly<Record<string, Conflict>>
  readonly classification?: Classification | undefined
  readonly repair_brief_id?: string | undefined
  /** The status but for the passing of time, as of the last step; absent while the record guides nothing. */
  readonly status?: DriftStatus | undefined
  readonly since?: string | undefined
  /** From then on it is stale. */
  readonly stale_at?: string | undefined
  readonly history: readonly DriftChange[]
}

/**
 * As the record keeps it: what every observation changes apart from the history, so that what a step writes into the
 * log stays small.
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

/** When it was seen, for order and age: UTC, never later than when it came. */
export function seenAt({ recorded_at, observed_at }: Seen): string {
  const came = utc(recorded_at)!
  const said = utc(observed_at) ?? came
  return said < came ? said : came
}

/** The state with one more observation; `evidenceIds` are those that the record names now. */
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

/** Earlier builds kept what was seen of evidence that the record does not name as seen of the record as a whole. */
function withoutStray(latest: DriftState['latest']): DriftState['latest'] {
  const { [NO_EVIDENCE]: general, ...others } = latest
  return general?.evidence_id === undefined ? latest : others
}

/** What was seen of evidence that the record names no more says nothing of its present version. */
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

/** A threat stands until anything of the record passes later: what it threatened has held. */
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

/** The newest word counts: a waiver excuses until its review, a pass needs no excuse. `knownAt`: when the newest before it was seen. */
function withExcuse(state: DriftState, of: Excusable, noted: Noted, knownAt: string | undefined): DriftState {
  if (knownAt !== undefined && knownAt > noted.seen_at) return state
  const { [of]: _, ...others } = state.excuses ?? {}
  if (noted.result === 'waived') return { ...state, excuses: { ...others, [of]: noted } }
  return state.excuses?.[of] === undefined ? state : { ...state, excuses: others }
}

/** A contradiction stands until somebody says of it that it is none. */
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

/** Forgets what was seen of evidence that the record names no more. */
export function withoutEvidence(state: DriftState, evidenceIds: ReadonlySet<string>): DriftState {
  const kept = Object.entries(state.latest).filter(([id]) => id === NO_EVIDENCE || evidenceIds.has(id))
  return kept.length === Object.keys(state.latest).length ? state : { ...state, latest: Object.fromEntries(kept) }
}

/** A record that was out of date and is put right: what spoke against its old words speaks no more. */
export function withoutComplaints(state: DriftState): DriftState {
  const latest = Object.fromEntries(Object.entries(state.latest).filter(([, { result }]) => result !== 'fail'))
  return { ...state, latest, threats: [], contradictions: [], excuses: {} }
}

/** One more line of the history. */
export function withChange(state: DriftState, change: DriftChange): DriftState {
  return { ...state, history: [...state.history.slice(1 - HISTORY_KEPT_MAX), change] }
}
