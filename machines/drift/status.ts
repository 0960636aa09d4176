/**
 * The status of a record's drift: the first that applies of contradicted, drifted, threatened, stale, unobserved and
 * holding. Computed with every step and stored with the record, and again by every reader: the passage of time alone
 * makes an unobserved record stale, without any timer.
 */
import { type DriftChange, type DriftReason, type DriftStatus, STALE_AFTER_MS } from '../documents/drift.ts'
import { utc } from '../instant.ts'
import type { By } from '../machine.ts'
import { PROBLEMS } from './problems.ts'
import { type Classification, type DriftState, NO_EVIDENCE, type Noted, withChange } from './state.ts'

/** The parts of a record that its drift depends on. */
export interface Subject {
  readonly evidence: readonly { readonly id: string; readonly description: string; readonly required: boolean }[]
  /** When this version was made, and when the record entered its state. */
  readonly versioned_at: string
  readonly state_at: string
  readonly drift: DriftState
}

/** One reason for a status. `since`: when it began to apply. */
export interface Cause extends Omit<DriftReason, 'observation'> {
  readonly since: string
  readonly noted?: Noted
}

interface Standing {
  readonly status: DriftStatus
  readonly causes: readonly Cause[]
  /** When the record becomes stale, unless something is observed. */
  readonly staleAt?: string
}

/** The record's status at a time (UTC), with its causes. */
export function standing(subject: Subject, at: string): Standing {
  const { classification } = subject.drift
  const contradictions = contradictionsOf(subject)
  if (contradictions.length > 0) return { status: 'contradicted', causes: contradictions }
  const drifts = driftsOf(subject, classification)
  if (drifts.length > 0) return { status: 'drifted', causes: drifts }
  const threats = threatsOf(subject)
  if (threats.length > 0) return { status: 'threatened', causes: threats }
  return quiet(subject, at)
}

function contradictionsOf({ drift }: Subject): Cause[] {
  const observed = drift.contradictions.map((noted) =>
    causeOf('contradiction_observed', noted, `${noted.observed_by} saw the record contradict what is there`),
  )
  const conflicting = Object.entries(drift.conflicts)
    .filter(([, { guiding }]) => guiding)
    .map(([intent_record_id, { key = intent_record_id, since }]) => {
      const detail = `it conflicts with ${key}, which also guides runs`
      return { ...sign('conflicting_record', detail, since), intent_record_id }
    })
  return [...observed, ...conflicting]
}

function driftsOf(subject: Subject, classification: Classification | undefined): Cause[] {
  const failed = failuresOf(subject, true)
  if (classification?.classification !== 'real') return failed
  const who = classification.by === undefined ? 'A person' : classification.by.name
  const why = classification.reason === undefined ? '' : `: ${classification.reason}`
  return [...failed, sign('classified_real', `${who} said that the drift is real${why}`, utc(classification.at)!)]
}

function threatsOf(subject: Subject): Cause[] {
  const { threats, latest } = subject.drift
  const seen = threats.map((noted) => causeOf('threat_observed', noted, `${noted.observed_by} saw a threat to it`))
  const general = latest[NO_EVIDENCE]
  const fails = failuresOf(subject, false)
  if (general?.result === 'fail') fails.push(causeOf('evidence_failed', general, `${general.observed_by} saw it fail`))
  return [...seen, ...fails]
}

function failuresOf({ evidence, drift }: Subject, required: boolean): Cause[] {
  return evidence.flatMap((one) => {
    const noted = drift.latest[one.id]
    if (one.required !== required || noted?.result !== 'fail') return []
    const detail = `${one.required ? 'required' : 'optional'} evidence failed: ${one.description}`
    return [causeOf('evidence_failed', noted, detail, one.id)]
  })
}

/** Everything that observations and other records say against it, worst first, regardless of any classification. */
function problemsOf(subject: Subject): readonly Cause[] {
  return [...contradictionsOf(subject), ...failuresOf(subject, true), ...threatsOf(subject)]
}

/** Identifies a cause: the same for a new observation that says the same. */
const signOf = ({ code, evidence_id = '', intent_record_id = '' }: Cause): string =>
  `${code} ${evidence_id}${intent_record_id}`

/** Ids of the required evidence whose newest observation is a failure. */
export function failingOf(subject: Subject): readonly string[] {
  return failuresOf(subject, true).map(({ evidence_id }) => evidence_id!)
}

/** Signs of everything that speaks against the record now: what an exception given now excuses. */
export function excusable(subject: Subject): readonly string[] {
  return [...new Set(problemsOf(subject).map(signOf))]
}

/** Since when something speaks against the record that its exception does not excuse; undefined if nothing does. */
export function exceededSince({ excused }: Classification, subject: Subject): string | undefined {
  if (excused === undefined) return undefined
  const beyond = problemsOf(subject).filter((cause) => !excused.includes(signOf(cause)))
  return beyond.map(({ since }) => since).sort()[0]
}

/** The status if nothing speaks against the record: depends on whether anything recent speaks for it. */
function quiet(subject: Subject, at: string): Standing {
  const { evidence, drift, versioned_at } = subject
  const { newest_at } = drift
  if (newest_at === undefined) {
    return {
      status: 'unobserved',
      causes: [sign('never_observed', 'it has never been observed', utc(subject.state_at)!)],
    }
  }
  const versionedAt = utc(versioned_at)!
  if (newest_at < versionedAt) {
    const detail = 'its current version has not been observed'
    return { status: 'stale', causes: [sign('version_not_observed', detail, versionedAt)] }
  }
  const lapse = lapseOf(subject, newest_at)
  const staleAt = lapse.since
  if (staleAt <= at) return { status: 'stale', causes: [lapse], staleAt }
  const missing = evidence
    .filter(({ id, required }) => required && !SHOWS.has(drift.latest[id]?.result ?? 'unknown'))
    .map(({ id, description }) => unobserved(id, description, drift.latest[id], subject))
  if (missing.length > 0) return { status: 'unobserved', causes: missing, staleAt }
  const shown = passesOf(subject)
  if (shown.length > 0) return { status: 'holding', causes: shown, staleAt }
  const detail = 'the observations are inconclusive'
  return { status: 'unobserved', causes: [sign('never_observed', detail, newest_at)], staleAt }
}

const SHOWS: ReadonlySet<string> = new Set(['pass', 'waived'])

function unobserved(evidence_id: string, description: string, noted: Noted | undefined, { state_at }: Subject): Cause {
  const detail = `required evidence was not shown: ${description}`
  if (noted !== undefined) return causeOf('evidence_unobserved', noted, detail, evidence_id)
  return { ...sign('evidence_unobserved', detail, utc(state_at)!), evidence_id }
}

/** What shows that the record holds; if it names required evidence, only that counts. */
function passesOf({ evidence, drift }: Subject): Cause[] {
  const required = evidence.filter((one) => one.required)
  const keys = required.length > 0 ? required.map(({ id }) => id) : Object.keys(drift.latest)
  return keys.flatMap((key) => {
    const noted = drift.latest[key]
    if (noted === undefined || !SHOWS.has(noted.result)) return []
    const what = evidence.find(({ id }) => id === key)?.description ?? 'the record as a whole'
    const code = noted.result === 'pass' ? ('evidence_passed' as const) : ('evidence_waived' as const)
    const detail = noted.result === 'pass' ? `passed: ${what}` : `waived by ${noted.waiver?.waived_by}: ${what}`
    return [causeOf(code, noted, detail, key === NO_EVIDENCE ? undefined : key)]
  })
}

/** What will make the record stale, and when: its newest observation grows too old, or a waiver is due for review. */
function lapseOf(subject: Subject, newest: string): Cause {
  const tooOldAt = new Date(Date.parse(newest) + STALE_AFTER_MS).toISOString()
  const lapses = [
    sign('not_observed_since', `it has not been observed since ${newest}`, tooOldAt),
    ...waiverEnds(subject),
  ]
  return lapses.reduce((first, lapse) => (lapse.since < first.since ? lapse : first))
}

function waiverEnds(subject: Subject): Cause[] {
  const { threat, contradiction } = subject.drift.excuses ?? {}
  return [
    ...evidenceWaiverEnds(subject),
    ...waiverEnd(threat, 'of a threat to it'),
    ...waiverEnd(contradiction, 'of a contradiction to it'),
  ]
}

/** If no evidence is required, anything shows that the record holds, so only the last waiver to end matters. */
function evidenceWaiverEnds({ evidence, drift }: Subject): Cause[] {
  const required = evidence.filter((one) => one.required)
  const endsOf = ({ id, description }: { readonly id: string; readonly description: string }) =>
    waiverEnd(drift.latest[id], `of it: ${description}`, id)
  if (required.length > 0) return required.flatMap(endsOf)
  const general = waiverEnd(drift.latest[NO_EVIDENCE], 'of the record as a whole')
  const isShown = Object.values(drift.latest).some(({ result }) => result === 'pass')
  const ends = isShown ? [] : [...evidence.flatMap(endsOf), ...general]
  return ends.sort((a, b) => (a.since < b.since ? -1 : 1)).slice(-1)
}

function waiverEnd(noted: Noted | undefined, what: string, evidence_id?: string): Cause[] {
  const reviewAt = reviewTimeOf(noted)
  if (reviewAt === undefined) return []
  return [{ ...causeOf('waiver_ended', noted!, `the waiver has ended ${what}`, evidence_id), since: reviewAt }]
}

function reviewTimeOf(noted: Noted | undefined): string | undefined {
  return noted?.result === 'waived' && noted.waiver !== undefined ? utc(noted.waiver.review_at) : undefined
}

function sign(code: Cause['code'], detail: string, since: string): Cause {
  return { code, detail, since }
}

function causeOf(code: Cause['code'], noted: Noted, detail: string, evidence_id?: string): Cause {
  return { ...sign(code, detail, noted.seen_at), ...(evidence_id === undefined ? {} : { evidence_id }), noted }
}

/** Why the status is recomputed; goes into the history. */
export interface Occasion {
  readonly cause: 'observation' | 'classification' | 'version' | 'conflict' | 'state'
  readonly at: string
  readonly by?: By | undefined
  readonly observation_id?: string | undefined
  /** For an observation: when it was seen (UTC). */
  readonly seen_at?: string | undefined
}

/** Whether observations alone show a drift, ignoring any classification. */
export function speaksOfDrift({ drift, ...subject }: Subject): boolean {
  return PROBLEMS.has(standing({ ...subject, drift: { ...drift, classification: undefined } }, '').status)
}

/** The state with its status recomputed, the change recorded in the history, and an ended classification removed. */
export function restated(subject: Subject, occasion: Occasion): DriftState {
  const drift = withoutEndedClassification(withLapse(subject.drift, occasion.at), subject, occasion)
  const { status, causes, staleAt } = standing({ ...subject, drift }, utc(occasion.at)!)
  // While the status is unchanged, so is its start.
  const isSame = status === drift.status && drift.since !== undefined
  const since = isSame ? drift.since : sinceOf(status, causes, endOf(drift, occasion))
  // A brief repairs one drift; a later drift is a different one.
  const over = PROBLEMS.has(status) ? {} : { repair_brief_id: undefined }
  const next = { ...drift, ...over, status, since, stale_at: staleAt }
  if (status === drift.status) return next
  const { at, by, cause, observation_id } = occasion
  const previous = lastStatusOf(drift)
  return withChange(next, {
    at,
    kind: 'status',
    status,
    ...(previous === undefined ? {} : { previous_status: previous }),
    since,
    cause,
    ...(observation_id === undefined ? {} : { observation_id }),
    ...(by === undefined ? {} : { by }),
  })
}

function lastStatusOf({ history }: DriftState): DriftStatus | undefined {
  return history.at(-1)?.status
}

/** A problem began with the earliest of its causes that still stands, any other status with the latest. */
function sinceOf(status: DriftStatus, causes: readonly Cause[], ended: string): string {
  const times = causes.map(({ since }) => since)
  return PROBLEMS.has(status) ? times.sort()[0]! : [...times, ended].sort().at(-1)!
}

/** When the previous status ended: when its end was seen, or happened. Before the first status there was none. */
function endOf({ status }: DriftState, { at, seen_at }: Occasion): string {
  return status === undefined ? '' : (seen_at ?? utc(at)!)
}

/** Adds to the history a lapse that time alone has caused since the last step; readers have already been shown it. */
export function withLapse(drift: DriftState, at: string): DriftState {
  const { status, stale_at } = drift
  if (stale_at === undefined || stale_at > utc(at)! || (status !== 'holding' && status !== 'unobserved')) return drift
  const change: DriftChange = {
    at,
    kind: 'status',
    status: 'stale',
    previous_status: status,
    since: stale_at,
    cause: 'time',
  }
  return withChange({ ...drift, status: 'stale', since: stale_at }, change)
}

function withoutEndedClassification(drift: DriftState, subject: Subject, { at }: Occasion): DriftState {
  const { classification } = drift
  if (classification === undefined || !isEnded(classification, { ...subject, drift })) return drift
  const { status = 'unobserved' } = drift
  return withChange(
    { ...drift, classification: undefined, repair_brief_id: undefined },
    {
      at,
      kind: 'classification_ended',
      status,
      classification: classification.classification,
      reason: 'what was observed since',
    },
  )
}

/**
 * An exception ends with what it excused; a real drift ends once the evidence that showed it has passed again.
 * Observations are known to the millisecond: one seen in the millisecond of the classification counts as seen after it,
 * as of two seen in one millisecond the one that came last counts.
 */
function isEnded(classification: Classification, subject: Subject): boolean {
  const { classification: word, was_observed, at } = classification
  if (word === 'obsolete_intent' || speaksOfDrift(subject)) return false
  if (word === 'allowed_exception') return true
  if (!was_observed) return false
  const { evidence, drift } = subject
  const saidAt = utc(at)!
  const { failing = evidence.map(({ id }) => id) } = classification
  const owed = evidence.filter(({ id, required }) => required && failing.includes(id))
  // The drift was shown by a threat or a contradiction, or by evidence that is no longer required.
  if (owed.length === 0)
    return [drift.newest_pass_at, drift.contradiction_cleared_at].some((time = '') => time >= saidAt)
  return owed.every(({ id }) => {
    const noted = drift.latest[id]
    return noted !== undefined && SHOWS.has(noted.result) && noted.seen_at >= saidAt
  })
}
