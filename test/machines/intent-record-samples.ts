/** Messages of an intent record, and a snapshot of every state, for the tables, the paths and the walks. */

import type { ObserveMessage, Seen } from '../../machines/documents/observation.ts'
import type { IntentRecordContext } from '../../machines/intent-record/context.ts'
import { intentRecordModule } from '../../machines/intent-record.ts'
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import { BY } from './run-request-samples.ts'
import { after, at } from './step.ts'

export const RECORD = `ir_${'a'.repeat(24)}`
export const OTHER = `ir_${'b'.repeat(24)}`
export const HYPOTHESIS = `hyp_${'c'.repeat(24)}`
export const BRIEF = `brief_${'d'.repeat(24)}`
/** Required, and optional. */
export const E1 = `${RECORD}.e1`
export const E2 = `${RECORD}.e2`
export const DAY = 86_400

const named = { id: RECORD, project: 'acme', project_id: `proj_${'b'.repeat(24)}`, slug: 'sessions-survive' }

export const CONTENT = {
  title: 'Sessions survive a restart',
  capability: 'People stay signed in while we deploy.',
  threat: 'Sessions kept in memory.',
  scope: { paths: ['src/auth', './src//session.ts'] },
  sources: [{ source_type: 'code_observation' as const, source_ref: 'src/auth/store.ts' }],
  evidence: [
    { description: 'the restart test passes', gate_name: 'restart' },
    { description: 'no session map in memory', required: false },
  ],
}

export const CREATE = {
  type: 'create',
  by: BY,
  ...named,
  content: CONTENT,
  idempotency_key: 'key-1',
  fingerprint: 'fingerprint-1',
}

let serial = 0

/** An observation made and received `seconds` after the beginning of the tests' time. */
export function seen(
  seconds: number,
  more: Partial<Seen> = {},
): Message<ObserveMessage & { readonly type: 'observe' }> {
  const id = `obs_${String(++serial).padStart(24, '0')}`
  const { at: time } = at(seconds, { type: 'x' })
  const observation: Seen = {
    id,
    result: 'pass',
    observed_by: 'engine',
    source_type: 'engine_gate',
    observed_at: time,
    recorded_at: time,
    engine_run_id: 'run_1',
    run_request_id: 'runreq_1',
    ...more,
  }
  return at(seconds, { type: 'observe', project: 'acme', observation } as const)
}

const move = (type: string, seconds: number, more: object = {}) => at(seconds, { type, by: BY, ...more })
const update = (patch: object, more: object = {}) =>
  at(20, { type: 'update', by: BY, patch, may_rewrite: true, if_version: 1, ...more })

const RIGHTS = { to_guides: false, may_rewrite: true }
const NO_RIGHTS = { to_guides: false, may_rewrite: false }

export const MESSAGES = {
  create: at(0, CREATE),
  'create (a guess)': at(0, { ...CREATE, state: 'hypothesized' }),
  'create (other body)': at(1, { ...CREATE, fingerprint: 'fingerprint-2' }),
  'create (other key)': at(1, { ...CREATE, idempotency_key: 'key-2' }),
  make: at(0, { type: 'make', by: BY, ...named, content: CONTENT, hypothesis_id: HYPOTHESIS }),
  update: update({ title: 'Sessions survive every restart' }),
  'update (same)': update({ title: CONTENT.title }),
  'update (old version)': update({ title: 'Other' }, { if_version: 7 }),
  'update (may not rewrite)': update({ title: 'Other' }, { may_rewrite: false }),
  'update (unknown evidence)': update({ evidence: [{ id: `${RECORD}.e9`, description: 'x' }] }),
  accept: move('accept', 2, { reason: 'agreed' }),
  'accept (old version)': move('accept', 2, { reason: 'agreed', if_version: 7 }),
  activate: move('activate', 3),
  deprecate: move('deprecate', 4, { reason: 'no longer needed' }),
  'deprecate (other reason)': move('deprecate', 4, { reason: 'it was wrong' }),
  contradict: move('contradict', 4, { reason: 'it is not so' }),
  supersede: move('supersede', 4, { replacement: OTHER, reason: 'said better' }),
  'supersede (old version)': move('supersede', 4, { replacement: OTHER, reason: 'said better', if_version: 7 }),
  'supersede (by what is gone)': move('supersede', 4, {
    replacement: OTHER,
    replacement_key: 'acme.intent.other',
    replacement_state: 'contradicted',
    reason: 'said better',
  }),
  'supersede (by nothing)': move('supersede', 4),
  'supersede (by itself)': move('supersede', 4, { replacement: RECORD }),
  take_place: move('take_place', 5, { of: OTHER }),
  relate: move('relate', 5, { relation: 'supports', to: OTHER, ...RIGHTS }),
  'relate (conflict)': move('relate', 5, { relation: 'conflicts_with', to: OTHER, ...RIGHTS }),
  'relate (conflict, no right)': move('relate', 5, { relation: 'conflicts_with', to: OTHER, ...NO_RIGHTS }),
  'relate (conflict with a guide)': move('relate', 5, {
    relation: 'conflicts_with',
    to: OTHER,
    ...NO_RIGHTS,
    to_guides: true,
  }),
  'relate (itself)': move('relate', 5, { relation: 'supports', to: RECORD, ...RIGHTS }),
  unrelate: move('unrelate', 6, { relationship_id: `${RECORD}.r1`, may_rewrite: true }),
  'peer_conflict (declared)': at(7, {
    type: 'peer_conflict',
    with: OTHER,
    key: 'acme.intent.other',
    guiding: true,
    said: 'declared',
  }),
  'peer_conflict (of no conflict)': at(7, {
    type: 'peer_conflict',
    with: OTHER,
    key: 'acme.intent.other',
    guiding: true,
  }),
  observe: seen(11, { id: `obs_${'1'.repeat(24)}`, evidence_id: E1 }),
  'observe (required fails)': seen(8, { id: `obs_${'2'.repeat(24)}`, evidence_id: E1, result: 'fail' }),
  'observe (other project)': { ...seen(8), project: 'other' },
  classify: at(9, { type: 'classify', by: BY, classification: 'real', reason: 'I looked' }),
  'classify (exception)': at(9, {
    type: 'classify',
    by: BY,
    classification: 'allowed_exception',
    reason: 'for now',
    review_at: '2026-02-01T00:00:00Z',
  }),
  'classify (none)': at(9, { type: 'classify', by: BY, classification: 'none' }),
  repair_drafted: at(10, { type: 'repair_drafted', by: BY, formation_brief_id: BRIEF }),
} as const satisfies Record<string, Message<any>>

const M = MESSAGES
type Snapshots = Readonly<Record<string, SnapshotOf<IntentRecordContext>>>

/** One snapshot of every state, reached by messages. */
export function states(): Snapshots {
  const of = (...messages: Message<any>[]) => after(intentRecordModule, messages)
  return {
    hypothesized: of(M['create (a guess)']),
    proposed: of(M.create),
    accepted: of(M.create, M.accept),
    'accepted (of a hypothesis)': of(M.make),
    'accepted (drifted)': of(M.create, M.accept, M['observe (required fails)']),
    active: of(M.create, M.accept, M.activate),
    deprecated: of(M.create, M.accept, M.deprecate),
    contradicted: of(M.create, M.contradict),
    superseded: of(M.create, M.supersede),
  }
}
