/**
 * Which events a page needs to be told of, so that an open page does not take everything that agents print. Types that
 * are in neither list change nothing that is shown but histories, which have streams of their own (history.ts).
 */
import type { Filter } from './recorded.ts'

const PROJECTS = ['project_created', 'project_updated']

const ITEMS = of('work_item', 'submitted', 'started', 'settled', 'cancelled', 'held', 'released')
const RUNS = [
  ...of('run_request', 'created', 'approved', 'offered', 'accepted', 'started', 'completed', 'failed'),
  ...of('run_request', 'cancel_requested', 'cancelled', 'lost', 'requeued', 'released'),
]
const SENTINELS = of('sentinel', 'added', 'updated', 'removed', 'fired', 'skipped')

/** They change items, runs, runners, sessions, campaigns or initiatives, or why one of them waits. */
export const OF_WORK: readonly string[] = [
  ...PROJECTS,
  ...ITEMS,
  ...RUNS,
  ...of('campaign', 'added', 'advance_completed', 'paused', 'owner_paused', 'resumed', 'escalated', 'decided'),
  ...of('campaign', 'completed', 'cancelled'),
  ...of('initiative', 'added', 'steered', 'action_requested', 'owner_action_recorded', 'decided', 'completed'),
  ...of('initiative', 'cancelled'),
  ...of('finding', 'recorded', 'consumed'),
  ...of('pacing', 'paused', 'resumed', 'label_limited', 'label_unlimited', 'project_weighed'),
  ...of('runner', 'registered', 'updated', 'removed', 'online', 'offline', 'limited', 'limit_ended'),
  ...of('agent_session', 'started', 'ended'),
  'engine_run_opened',
  // Results of runs, which become those of items.
  ...['task_run_completed', 'remediation_completed', 'release_completed', 'project_maintenance_completed'],
]

/** They change sentinels and the items that these have submitted, or why one of those waits. */
export const OF_SENTINELS: readonly string[] = [
  ...PROJECTS,
  ...SENTINELS,
  ...ITEMS,
  ...RUNS,
  ...of('runner', 'online', 'offline', 'limited', 'limit_ended'),
  ...of('pacing', 'paused', 'resumed', 'label_limited', 'label_unlimited', 'project_weighed'),
]

/** They change what a project means, and what its page lists. */
export const OF_MEANING: readonly string[] = [
  ...PROJECTS,
  ...of('intent_record', 'created', 'updated', 'accepted', 'activated', 'deprecated', 'contradicted', 'superseded'),
  ...of('intent_record', 'related', 'unrelated', 'drift_changed'),
  ...of('hypothesis', 'opened', 'accepted', 'seen_again', 'relinked', 'rejected'),
  ...['discovery_recorded', 'drift_classified', 'evidence_observed', 'trace_summary_recorded'],
  ...of('formation_brief', 'created', 'updated', 'submitted', 'approved', 'compiled', 'run_changed', 'archived'),
  ...of('prompt_pack', 'compiled', 'edited'),
  ...ITEMS,
  // What a project has used.
  'agent_session_ended',
]

function of(family: string, ...moves: readonly string[]): readonly string[] {
  return moves.map((move) => `${family}_${move}`)
}

const PAGES_OF_MEANING: ReadonlySet<string> = new Set(['intent', 'hypotheses', 'discoveries', 'briefs', 'projects'])
const PAGES_OF_HISTORY: ReadonlySet<string> = new Set(['events', 'traces'])

/**
 * The filter of the stream for a page and the frame around it. Not narrowed to the chosen project: what waits there also
 * waits for the runs of others.
 */
export function interestOf(page: string): Filter {
  if (PAGES_OF_HISTORY.has(page)) return { event_type: PROJECTS.join() }
  if (page === 'sentinels') return { event_type: OF_SENTINELS.join() }
  return { event_type: (PAGES_OF_MEANING.has(page) ? OF_MEANING : OF_WORK).join() }
}
