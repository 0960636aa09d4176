/** How a campaign looks from outside: the envelope of its facts, its index rows, its document. */
import type { CampaignDocument, CampaignStatus } from '../documents/campaign.ts'
import type { FactEnvelope, SnapshotOf, Term } from '../machine.ts'
import { nextBaseRef } from './chain.ts'
import type { CampaignContext } from './context.ts'
import { evidenceName } from './evidence.ts'
import { calledFor, needIn, wordsOf } from './needs.ts'

type Snapshot = SnapshotOf<CampaignContext>

/** Events about a formation go on its work item's trace, the owners' moves on the campaign's own. */
export function envelope({ project, internal }: CampaignContext): FactEnvelope {
  const { place, trace_id, span_id } = internal
  const parent_span_id = place.trace_id === trace_id && place.span_id !== span_id ? span_id : null
  return { project, throttle: 'full', ...place, parent_span_id, gather_id: null }
}

export function terms(snapshot: Snapshot): readonly Term[] {
  const { value, context } = snapshot
  const { project, created_at, since } = context
  const rows: Term[] = [
    { index: 'all', value: '', order: created_at },
    { index: 'project', value: project, order: created_at },
    { index: 'state', value, order: since },
  ]
  // Also if it has been paused since: its question is still open.
  if (calledFor(needIn(snapshot)) === 'escalated') rows.push({ index: 'attention', value: 'escalated', order: since })
  return rows
}

const SHOWN = ['last_run_event_id', 'question', 'paused', 'authorized_by', 'ended_at'] as const

/** The document without the state of the item under way, which the server fills in from the work item. */
export function document(snapshot: Snapshot): CampaignDocument {
  const { value, context: c } = snapshot
  const { done_evidence, added_by, mission, ...asked } = c.asked
  const need = needIn(snapshot)
  const baseRef = nextBaseRef(c)
  return {
    name: c.name,
    project: c.project,
    project_id: c.project_id,
    status: value as CampaignStatus,
    reason: c.reason,
    since: c.since,
    stage: stageOf(value, c),
    ...(c.work === undefined ? {} : { work: workOf(c.work) }),
    ...(need === undefined ? {} : { needs: wordsOf(need) }),
    mission,
    done_evidence: done_evidence.map((evidence, index) => ({ name: evidenceName(index), ...evidence })),
    ...(asked as Partial<CampaignDocument>),
    budget: { max_cycles: c.max_cycles, remaining: Math.max(0, c.max_cycles - c.cycles_completed) },
    cycles_completed: c.cycles_completed,
    cycles_landed: c.cycles_landed,
    ...Object.fromEntries(SHOWN.flatMap((name) => (c[name] === undefined ? [] : [[name, c[name]]]))),
    ...(baseRef === undefined ? {} : { base_ref: baseRef }),
    ...(c.owner_decisions.length === 0 ? {} : { owner_decisions: [...c.owner_decisions] }),
    ...(c.history.length === 0 ? {} : { objective_history: [...c.history] }),
    ...(c.gate_results === undefined || c.gate_results.length === 0 ? {} : { gate_results: [...c.gate_results] }),
    ...(c.pending === undefined ? {} : { pending_run_result: { event_id: c.pending.event_id, ...c.pending.payload } }),
    added_by,
    trace_id: c.internal.trace_id,
    created_at: c.created_at,
  }
}

function stageOf(value: string, { work, stopping }: CampaignContext): CampaignDocument['stage'] {
  if (value === 'cancelling' || stopping !== undefined) return 'stopping'
  if (work === undefined) return 'idle'
  return work.role === 'advance' ? 'forming' : 'cycle'
}

function workOf({ role, item_id, trace_id, since, cycle, objective }: NonNullable<CampaignContext['work']>) {
  return {
    role,
    item_id,
    trace_id,
    since,
    ...(cycle === undefined ? {} : { cycle }),
    ...(objective === undefined ? {} : { objective }),
  }
}
